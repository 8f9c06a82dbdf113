"""Copies the attachments of messages along when a log is exported, moved or backed up."""

from pathlib import Path

from everloop.adapters.files.store import Carried, FileStore, carry
from everloop.app import Engine
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.screen import WARNING, Screen
from everloop.interfaces.cli.session import Session
from everloop.stores import beside, copy_file, log_file
from everloop.thread.queries.files import FILES


def own_files(session: Session) -> FileStore:
    """The attachment store of the current data home."""
    home, store, tenant = session.settings.folder, session.settings.store, session.tenant
    log = copy_file(store, home, tenant) if store else log_file(home, tenant)
    return FileStore(beside(log, FILES))


def files_in(folder: Path) -> FileStore:
    """The attachment store of a folder of backups."""
    return FileStore(folder / FILES)


def files_of(archive: Path) -> FileStore:
    """The attachment store of an archive: a folder next to it."""
    return FileStore(archive.with_name(f"{archive.name}.{FILES}"))


def take_along(
    session: Session, engine: Engine, holder: FileStore, target: FileStore, *others: FileStore
) -> Carried:
    """Copy every attachment of a log to a store, from the first source that has it."""
    with session.progress("copying files") as progress:
        return carry(engine.files_wanted(), (holder, *others), target, progress)


def leave_out(engine: Engine, store: FileStore) -> None:
    """Erase attachments that the log does not reference, such as those of a replaced archive."""
    store.keep_only(engine.files_wanted())


def shape(carried: Carried) -> dict[str, int]:
    """The counts of copied and missing attachments, as JSON."""
    return {"files": carried.held, "files_missing": carried.missing}


def tell(screen: Screen, carried: Carried) -> None:
    """Print the counts of copied and missing attachments, if there are any."""
    if carried.held:
        screen.say(f"Included {plural(carried.held, 'attachment')}.")
    if carried.missing:
        screen.say(
            (f"{plural(carried.missing, 'attachment')} not found", WARNING),
            "; the messages are included without them.",
        )
