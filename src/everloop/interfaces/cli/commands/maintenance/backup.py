"""`everloop backup` and `restore`: full copies of the log file.

Attachments stay in the data home; a backup in another folder includes them.
"""

from argparse import Namespace
from pathlib import Path

from everloop.adapters.files.store import Carried
from everloop.errors import Invalid, NotFound
from everloop.interfaces.cli import fact_tables, message_files
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.screen import FAINT, GOOD, STRONG, Screen
from everloop.interfaces.cli.output.times import local_with_age
from everloop.interfaces.cli.session import Session
from everloop.log.maintenance.backup import Copy, backups, make_backup
from everloop.log.opening import BACKUPS, node_backups
from everloop.log.transfer.restore import Restored, restore_log
from everloop.stores import copy_file, log_file, tenant_folder


def backup(session: Session, args: Namespace) -> None:
    """Make a backup, or list existing ones."""
    folder = _folder(session, args)
    if args.list:
        found = backups(folder)
        session.answer(
            [_shape(copy) for copy in found],
            lambda screen: _list(screen, found, folder, session),
        )
        return
    carried = Carried()
    with session.looking() as engine:
        with session.progress("copying") as progress:
            if args.folder or engine.log.backups is None:
                path = make_backup(engine.log.file, folder, session.now, progress)
            else:
                path = engine.log.backups.make(progress)
        if args.folder:
            carried = message_files.take_along(
                session, engine, engine.files, message_files.files_in(folder)
            )
    size = path.stat().st_size

    def draw(screen: Screen) -> None:
        screen.say(("Backed up and verified", GOOD), f": {path} ({size:,} bytes).")
        message_files.tell(screen, carried)

    session.answer({"path": path, "bytes": size} | message_files.shape(carried), draw)


def restore(session: Session, args: Namespace) -> int | None:
    """Replace the log with a backup; the old log is kept under another name."""
    target = _target(session)
    copy = Path(args.copy) if args.copy else _newest(_folder(session, args)).path
    if not copy.is_file():
        raise NotFound(f"no backup {copy}", hint="Run `everloop backup --list` to list backups.")

    def preview(screen: Screen) -> None:
        screen.say((f"Restoring {copy}", STRONG))
        screen.say(f"The backup is verified first, then it replaces {target}.")
        screen.say(
            "Everything recorded since the backup will be missing from the log;"
            " data erased since then will be back."
        )
        screen.say("The current log is kept next to it under another name.")

    if not session.agreed(preview, "Restore it?"):
        return DECLINED
    with session.progress("restoring") as progress:
        done = restore_log(copy, target, session.world, progress)
    with session.engine() as engine:
        backed_up = message_files.files_in(copy.parent)
        carried = message_files.take_along(session, engine, backed_up, engine.files)

    def draw(screen: Screen) -> None:
        _draw_restored(screen, copy, done)
        message_files.tell(screen, carried)

    shape = {"copy": copy, "target": target, "head": done.head, "kept": done.kept}
    session.answer(shape | message_files.shape(carried), draw)
    return None


def _folder(session: Session, args: Namespace) -> Path:
    if args.folder:
        return tenant_folder(Path(args.folder), session.tenant)
    home, store = session.settings.folder, session.settings.store
    if store:
        return node_backups(copy_file(store, home, session.tenant))
    return log_file(home, session.tenant).parent / BACKUPS


def _target(session: Session) -> Path:
    if session.settings.store:
        raise Invalid(
            "a log in PostgreSQL cannot be replaced by a backup",
            hint="Copy a backup into an empty database (`everloop move COPY postgresql://…`), then"
            " set `store` to its URL. `everloop backup --list` shows the backups.",
        )
    return log_file(session.settings.folder, session.tenant)


def _newest(folder: Path) -> Copy:
    found = backups(folder)
    if not found:
        raise NotFound(f"no backup in {folder}", hint="Run `everloop backup` to make one.")
    return found[0]


def _shape(copy: Copy) -> dict[str, object]:
    return {
        "path": copy.path,
        "made_at": copy.made_at,
        "head": copy.head,
        "bytes": copy.path.stat().st_size,
    }


def _list(screen: Screen, found: list[Copy], folder: Path, session: Session) -> None:
    if not found:
        screen.say(f"No backups in {folder}. Run `everloop backup` to make one.")
        return
    screen.say((f"In {folder}:", FAINT))
    screen.table(
        ("created", "#records", "#bytes", "file"),
        [
            (
                local_with_age(copy.made_at, session.now),
                f"{copy.head:,}",
                f"{copy.path.stat().st_size:,}",
                copy.path.name,
            )
            for copy in found
        ],
    )


def _draw_restored(screen: Screen, copy: Path, done: Restored) -> None:
    screen.say(
        ("Restored", GOOD), f" {copy.name}: {fact_tables.plural(done.head, 'record')}, verified."
    )
    if done.kept:
        screen.say(f"The previous log is now {done.kept}.")
