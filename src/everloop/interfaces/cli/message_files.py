"""The files beside messages: they go where their log goes."""

from pathlib import Path

from everloop.adapters.files.store import Carried, FileStore, carry
from everloop.app import Engine
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.screen import WARNING, Screen
from everloop.interfaces.cli.session import Session
from everloop.stores import beside, copy_file, log_file
from everloop.thread.queries.files import FILES


def own_files(session: Session) -> FileStore:
    """Where they are in the data home at hand."""
    home, store, tenant = session.settings.folder, session.settings.store, session.tenant
    log = copy_file(store, home, tenant) if store else log_file(home, tenant)
    return FileStore(beside(log, FILES))


def files_in(folder: Path) -> FileStore:
    """Where a folder of backups has the files beside the messages."""
    return FileStore(folder / FILES)


def files_of(archive: Path) -> FileStore:
    """Where they are that belong to an archive."""
    return FileStore(archive.with_name(f"{archive.name}.{FILES}"))


def take_along(
    session: Session, engine: Engine, holder: FileStore, target: FileStore, *others: FileStore
) -> Carried:
    """Have a store hold every file beside a message of a log, from the first that has it."""
    with session.progress("copying files") as progress:
        return carry(engine.files_wanted(), (holder, *others), target, progress)


def leave_out(engine: Engine, store: FileStore) -> None:
    """Erase there what no message of a log has: of an archive that was replaced, nothing stays."""
    store.keep_only(engine.files_wanted())


def shape(carried: Carried) -> dict[str, int]:
    """What became of them, in a document."""
    return {"files": carried.held, "files_missing": carried.missing}


def tell(screen: Screen, carried: Carried) -> None:
    """Say what became of them, if there are any."""
    if carried.held:
        screen.say(f"With {plural(carried.held, 'file')} that messages have beside them.")
    if carried.missing:
        screen.say(
            (f"{plural(carried.missing, 'file')} beside messages not found", WARNING),
            ": the messages are there, without them.",
        )
