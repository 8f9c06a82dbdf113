"""Copies the attachments of messages along when a log is exported, moved or backed up."""

from pathlib import Path

from everloop.adapters import CopyResult, FileStore, copy_files
from everloop.app import Engine
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.screen import WARNING, Screen
from everloop.interfaces.cli.session import Session
from everloop.stores import log_path, path_next_to, replica_path
from everloop.thread import FILES_FOLDER


def home_files(session: Session) -> FileStore:
    """The attachment store of the current data home."""
    home, store, tenant = session.settings.folder, session.settings.store, session.tenant
    log = replica_path(store, home, tenant) if store else log_path(home, tenant)
    return FileStore(path_next_to(log, FILES_FOLDER))


def backup_files(folder: Path) -> FileStore:
    """The attachment store of a folder of backups."""
    return FileStore(folder / FILES_FOLDER)


def archive_files(archive: Path) -> FileStore:
    """The attachment store of an archive: a folder next to it."""
    return FileStore(archive.with_name(f"{archive.name}.{FILES_FOLDER}"))


def copy_attachments(
    session: Session, engine: Engine, holder: FileStore, target: FileStore, *others: FileStore
) -> CopyResult:
    """Copy every attachment of a log to a store, from the first source that has it."""
    with session.progress("copying files") as progress:
        return copy_files(engine.files_wanted(), (holder, *others), target, progress)


def erase_unreferenced(engine: Engine, store: FileStore) -> None:
    """Erase attachments that the log does not reference, such as those of a replaced archive."""
    store.erase_except(engine.files_wanted())


def attachments_json(carried: CopyResult) -> dict[str, int]:
    """The counts of copied and missing attachments, as JSON."""
    return {"files": carried.held, "files_missing": carried.missing}


def draw_attachments(screen: Screen, carried: CopyResult) -> None:
    """Print the counts of copied and missing attachments, if there are any."""
    if carried.held:
        screen.paragraph(f"Included {plural(carried.held, 'attachment')}.")
    if carried.missing:
        screen.paragraph(
            (f"{plural(carried.missing, 'attachment')} not found", WARNING),
            "; the messages are included without them.",
        )
