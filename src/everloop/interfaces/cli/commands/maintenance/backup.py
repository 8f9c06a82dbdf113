"""`everloop backup` and `restore`: whole copies of the log file.

The files beside messages lie in the data home; a backup elsewhere takes them along.
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
    """Make a copy now, or list the ones there are."""
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
        screen.say(("Copied and checked", GOOD), f": {path} ({size:,} bytes).")
        message_files.tell(screen, carried)

    session.answer({"path": path, "bytes": size} | message_files.shape(carried), draw)


def restore(session: Session, args: Namespace) -> int | None:
    """Put a backup in place of the log. The log that was there is kept beside it."""
    target = _target(session)
    copy = Path(args.copy) if args.copy else _newest(_folder(session, args)).path
    if not copy.is_file():
        raise NotFound(f"no backup {copy}", hint="`everloop backup --list` shows them.")

    def preview(screen: Screen) -> None:
        screen.say((f"Restoring {copy}", STRONG))
        screen.say(f"It is verified first, and then takes the place of {target}.")
        screen.say(
            "What was recorded since it was made is no longer in the log;"
            " what was erased since then is there again."
        )
        screen.say("The log that is there now is kept beside it under another name.")

    if not session.agreed(preview, "Restore it?"):
        return DECLINED
    with session.progress("restoring") as progress:
        done = restore_log(copy, target, session.world, progress)
    with session.engine() as engine:
        backed_up = message_files.files_in(copy.parent)
        carried = message_files.take_along(session, engine, backed_up, engine.files)

    def draw(screen: Screen) -> None:
        _restored(screen, copy, done)
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
            "this log lives in PostgreSQL, and no node may put another in its place",
            hint="Move a backup into an empty database (`everloop move COPY postgresql://…`), then"
            " set `store` to that. `everloop backup --list` shows the copies.",
        )
    return log_file(session.settings.folder, session.tenant)


def _newest(folder: Path) -> Copy:
    found = backups(folder)
    if not found:
        raise NotFound(f"no backup in {folder}", hint="`everloop backup` makes one.")
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
        screen.say(f"No backups in {folder} yet. `everloop backup` makes one.")
        return
    screen.say((f"In {folder}:", FAINT))
    screen.table(
        ("made", "#records", "#bytes", "file"),
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


def _restored(screen: Screen, copy: Path, done: Restored) -> None:
    screen.say(
        ("Restored", GOOD), f" {copy.name}: {fact_tables.plural(done.head, 'record')}, verified."
    )
    if done.kept:
        screen.say(f"The log that was there is now {done.kept}.")
