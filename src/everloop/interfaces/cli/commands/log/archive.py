"""`everloop log export`, `log import` and `move`: the whole log, out, in and elsewhere.

The files beside messages go with it: those of an archive lie in a folder beside it.
"""

import importlib
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from everloop.adapters.files.store import Carried
from everloop.app import Engine
from everloop.errors import Conflict, NotFound, Unavailable
from everloop.interfaces.cli import fact_tables, message_files
from everloop.interfaces.cli.audience import check_reads_all
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.screen import GOOD, STRONG, Screen
from everloop.interfaces.cli.parsing.command_table import FORMATS
from everloop.interfaces.cli.session import Session
from everloop.log import Log
from everloop.log.transfer.archive import check_there, export_jsonl, import_jsonl
from everloop.log.transfer.move import move
from everloop.ports import Progress
from everloop.stores import is_address, log_file

JSONL, PARQUET = FORMATS
Carrier = Callable[[Log, Path, Progress | None], int]


def export(session: Session, args: Namespace) -> int | None:
    """Write the whole log to an archive."""
    path = Path(args.file)
    carry = export_jsonl if _format(args) == JSONL else _parquet("export_parquet")
    replaced = path.exists()
    if replaced and not session.agreed(
        lambda screen: screen.say((f"{path} is there already.", STRONG)), "Replace it?"
    ):
        return DECLINED
    carried = Carried()
    with session.looking() as engine:
        if replaced and not path.is_file():  # such as /dev/stdout: that shows it
            check_reads_all(session, engine)
        with session.progress("exporting") as progress:
            records = carry(engine.log, path, progress)
        if path.is_file():
            files = message_files.files_of(path)
            carried = message_files.take_along(session, engine, engine.files, files)
            if replaced:
                message_files.leave_out(engine, files)
    size = path.stat().st_size

    def draw(screen: Screen) -> None:
        told = f" {fact_tables.plural(records, 'record')} to {path} ({size:,} bytes)."
        screen.say(("Exported", GOOD), told)
        message_files.tell(screen, carried)

    shape = {"file": path, "format": _format(args), "records": records, "bytes": size}
    session.answer(shape | message_files.shape(carried), draw)
    return None


def import_archive(session: Session, args: Namespace) -> int | None:
    """Read an archive into an empty log, or go on where an earlier import stopped."""
    path = Path(args.file)
    carry = import_jsonl if _format(args) == JSONL else _parquet("import_parquet")
    check_there(path)
    with session.engine() as engine:
        head = engine.log.head

        def preview(screen: Screen) -> None:
            screen.say((f"Importing {path} into {engine.log.file.path}", STRONG))
            screen.say(
                f"It holds {fact_tables.plural(head, 'record')}; only what continues exactly these"
                " is taken in. A damaged archive is refused as a whole."
            )

        if not session.agreed(preview, "Import it?"):
            return DECLINED
        with session.progress("importing") as progress:
            records = carry(engine.log, path, progress)
        carried = message_files.take_along(
            session, engine, message_files.files_of(path), engine.files
        )
        now = engine.log.head

    def draw(screen: Screen) -> None:
        told = f" {fact_tables.plural(records, 'record')}; the log now has"
        screen.say(("Imported", GOOD), f"{told} {fact_tables.plural(now, 'record')}.")
        message_files.tell(screen, carried)

    shape = {"file": path, "format": _format(args), "records": records, "head": now}
    session.answer(shape | message_files.shape(carried), draw)
    return None


def move_log(session: Session, args: Namespace) -> None:
    """Copy a log to another store; what is there already is not copied again."""
    if args.source == args.target:
        raise Conflict("source and target are the same", hint="Name two different places.")
    _check_source(session, args.source)
    with _engine(session, args.source) as source, _engine(session, args.target) as target:
        with session.progress("moving") as progress:
            records = move(source.log, target.log, progress)
        head = target.log.head
        of_a_backup = (
            message_files.files_in(source.log.file.path.parent),
            message_files.own_files(session),
        )
        carried = message_files.take_along(
            session, source, source.files, target.files, *of_a_backup
        )

    def draw(screen: Screen) -> None:
        screen.say(
            ("Moved", GOOD),
            f" {fact_tables.plural(records, 'record')}; the target now has"
            f" {fact_tables.plural(head, 'record')}, and every digest is the same."
            " To use it, set `store` or `home`: see `everloop settings`.",
        )
        message_files.tell(screen, carried)

    session.answer({"records": records, "head": head} | message_files.shape(carried), draw)


def _check_source(session: Session, where: str) -> None:
    """Refuse to make an empty log where one was expected."""
    if is_address(where):
        return
    path = log_file(Path(where).expanduser(), session.tenant)
    if not path.exists():
        raise NotFound(f"no log at {path}", hint="Name a data home, a log file or an address.")


def _engine(session: Session, where: str) -> Engine:
    return Engine.open(where, settings=session.settings, tenant=session.tenant, world=session.world)


def _format(args: Namespace) -> str:
    if args.format:
        return str(args.format)
    return PARQUET if Path(args.file).suffix == ".parquet" else JSONL


def _parquet(name: str) -> Carrier:
    """A function of the Parquet adapter, which an extra brings.

    Raises:
        Unavailable: the extra is not installed.
    """
    try:
        adapter: Any = importlib.import_module("everloop.adapters.warehouse.parquet")
    except ImportError as problem:
        raise Unavailable(
            "Parquet archives need pyarrow, which is not installed",
            hint="Install it: pip install 'everloop[parquet]'. Or export as JSONL.",
        ) from problem
    carry: Carrier = getattr(adapter, name)
    return carry
