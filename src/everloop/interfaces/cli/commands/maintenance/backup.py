"""`everloop backup` and `restore`: full copies of the log file.

Attachments stay in the data home; a backup in another folder includes them.
"""

from argparse import Namespace
from pathlib import Path

from everloop.adapters import CopyResult
from everloop.errors import EverloopError, Invalid, NotFound
from everloop.interfaces.cli import fact_tables, message_files
from everloop.interfaces.cli.audience import check_can_read_everything, command_context
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.screen import BOLD, DIM, GOOD, Screen
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.permissions import require_user
from everloop.interfaces.cli.session import Session
from everloop.log import (
    BACKUP_FOLDER,
    BackupFile,
    RestoreResult,
    list_backups,
    make_backup,
    node_backup_folder,
    restore_log,
)
from everloop.restore_access import NOBODY, Trusted, revoke_what_returned, trusted_now
from everloop.stores import log_path, replica_path, tenant_folder


def backup(session: Session, args: Namespace) -> None:
    """Make a backup, or list existing ones.

    Raises:
        Forbidden: a copy outside the data home is for someone who may read everything.
    """
    folder = _folder(session, args)
    if args.list:
        found = list_backups(folder)
        session.print_result(
            [_shape(copy) for copy in found],
            lambda screen: _list(screen, found, folder, session),
        )
        return
    carried = CopyResult()
    with session.open_for_reading() as engine:
        if args.folder:
            check_can_read_everything(session, engine)
        with session.progress("copying") as progress:
            if args.folder or engine.log.backups is None:
                path = make_backup(engine.log.file, folder, session.now, progress)
            else:
                path = engine.log.backups.make(progress)
        if args.folder:
            carried = message_files.copy_attachments(
                session, engine, engine.files, message_files.backup_files(folder)
            )
    size = path.stat().st_size

    def draw(screen: Screen) -> None:
        screen.paragraph(("Backed up and verified", GOOD), f": {path} ({size:,} bytes).")
        message_files.draw_attachments(screen, carried)

    session.print_result(
        {"path": path, "bytes": size} | message_files.attachments_json(carried), draw
    )


def restore(session: Session, args: Namespace) -> int | None:
    """Replace the log with a backup; the old log is kept under another name.

    What was revoked since the backup stays revoked: devices, passkeys, and trust in hosts.

    Raises:
        Forbidden: not at a terminal; a backup decides again who is signed in and trusted.
    """
    require_user(session, "restore a backup")
    target = _target(session)
    copy = Path(args.copy) if args.copy else _newest(_folder(session, args)).path
    if not copy.is_file():
        raise NotFound(f"no backup {copy}", hint="Run `everloop backup --list` to list backups.")

    def preview(screen: Screen) -> None:
        screen.paragraph((f"Restoring {copy}", BOLD))
        screen.paragraph(f"The backup is verified first, then it replaces {target}.")
        screen.paragraph(
            "Everything recorded since the backup will be missing from the log;"
            " data erased since then will be back. Devices that were revoked and hosts that were"
            " distrusted since then stay so."
        )
        screen.paragraph("The current log is kept next to it under another name.")

    if not session.confirm(preview, "Restore it?"):
        return DECLINED
    before = _trusted_now(session, target)
    with session.progress("restoring") as progress:
        done = restore_log(copy, target, session.ports, progress)
    with session.open_engine() as engine:
        if before:
            revoke_what_returned(engine, before, by=command_context(session))
        backed_up = message_files.backup_files(copy.parent)
        carried = message_files.copy_attachments(session, engine, backed_up, engine.files)

    def draw(screen: Screen) -> None:
        _draw_restored(screen, copy, done)
        message_files.draw_attachments(screen, carried)

    shape = {"copy": copy, "target": target, "head": done.head, "kept": done.kept}
    session.print_result(shape | message_files.attachments_json(carried), draw)
    return None


def _folder(session: Session, args: Namespace) -> Path:
    if args.folder:
        return tenant_folder(Path(args.folder), session.tenant)
    home, store = session.settings.folder, session.settings.store
    if store:
        return node_backup_folder(replica_path(store, home, session.tenant))
    return log_path(home, session.tenant).parent / BACKUP_FOLDER


def _target(session: Session) -> Path:
    if session.settings.store:
        raise Invalid(
            "a log in PostgreSQL cannot be replaced by a backup",
            hint="Copy a backup into an empty database (`everloop move COPY postgresql://…`), then"
            " set `store` to its URL. `everloop backup --list` shows the backups.",
        )
    return log_path(session.settings.folder, session.tenant)


def _trusted_now(session: Session, target: Path) -> Trusted | None:
    """Who is signed in and trusted in the log that is replaced; None if there is no log.

    Of a damaged log nobody knows what it had revoked, so nobody is.
    """
    if not target.exists():
        return None
    try:
        with session.open_engine() as engine:
            return trusted_now(engine)
    except EverloopError:
        return NOBODY


def _newest(folder: Path) -> BackupFile:
    found = list_backups(folder)
    if not found:
        raise NotFound(f"no backup in {folder}", hint="Run `everloop backup` to make one.")
    return found[0]


def _shape(copy: BackupFile) -> dict[str, object]:
    return {
        "path": copy.path,
        "made_at": copy.made_at,
        "head": copy.head,
        "bytes": copy.path.stat().st_size,
    }


def _list(screen: Screen, found: list[BackupFile], folder: Path, session: Session) -> None:
    if not found:
        screen.advice(f"No backups in {folder}. Run `everloop backup` to make one.")
        return
    screen.paragraph((f"In {folder}:", DIM))
    screen.table(
        ("created", "#records", "#bytes", "file"),
        [
            (
                format_with_age(copy.made_at, session.now),
                f"{copy.head:,}",
                f"{copy.path.stat().st_size:,}",
                copy.path.name,
            )
            for copy in found
        ],
    )


def _draw_restored(screen: Screen, copy: Path, done: RestoreResult) -> None:
    screen.paragraph(
        ("Restored", GOOD), f" {copy.name}: {fact_tables.plural(done.head, 'record')}, verified."
    )
    if done.kept:
        screen.paragraph(f"The previous log is now {done.kept}.")
