"""`everloop log export`, `log import` and `move`: the whole log, out, in and elsewhere.

The files beside messages go with it: those of an archive lie in a folder beside it.
"""

import importlib
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from everloop.adapters.files import Carried
from everloop.app import Engine
from everloop.errors import Conflict, NotFound, Unavailable
from everloop.interfaces.cli import listing, luggage
from everloop.interfaces.cli.exits import DECLINED
from everloop.interfaces.cli.eyes import check_reads_all
from everloop.interfaces.cli.screen import GOOD, STRONG, Screen
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.verbs import FORMATS
from everloop.log import Log
from everloop.log.archive import check_there, export_jsonl, import_jsonl
from everloop.log.moving import move
from everloop.ports import Progress
from everloop.stores import is_address, log_file

JSONL, PARQUET = FORMATS
Carrier = Callable[[Log, Path, Progress | None], int]


def export(session: Session, asked: Namespace) -> int | None:
    """Write the whole log to an archive."""
    path = Path(asked.file)
    carry = export_jsonl if _format(asked) == JSONL else _parquet("export_parquet")
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
            files = luggage.files_of(path)
            carried = luggage.take_along(session, engine, engine.files, files)
            if replaced:
                luggage.leave_out(engine, files)
    size = path.stat().st_size

    def draw(screen: Screen) -> None:
        told = f" {listing.plural(records, 'record')} to {path} ({size:,} bytes)."
        screen.say(("Exported", GOOD), told)
        luggage.tell(screen, carried)

    shape = {"file": path, "format": _format(asked), "records": records, "bytes": size}
    session.answer(shape | luggage.shape(carried), draw)
    return None


def import_archive(session: Session, asked: Namespace) -> int | None:
    """Read an archive into an empty log, or go on where an earlier import stopped."""
    path = Path(asked.file)
    carry = import_jsonl if _format(asked) == JSONL else _parquet("import_parquet")
    check_there(path)
    with session.engine() as engine:
        head = engine.log.head

        def preview(screen: Screen) -> None:
            screen.say((f"Importing {path} into {engine.log.file.path}", STRONG))
            screen.say(
                f"It holds {listing.plural(head, 'record')}; only what continues exactly these"
                " is taken in. A damaged archive is refused as a whole."
            )

        if not session.agreed(preview, "Import it?"):
            return DECLINED
        with session.progress("importing") as progress:
            records = carry(engine.log, path, progress)
        carried = luggage.take_along(session, engine, luggage.files_of(path), engine.files)
        now = engine.log.head

    def draw(screen: Screen) -> None:
        told = f" {listing.plural(records, 'record')}; the log now has"
        screen.say(("Imported", GOOD), f"{told} {listing.plural(now, 'record')}.")
        luggage.tell(screen, carried)

    shape = {"file": path, "format": _format(asked), "records": records, "head": now}
    session.answer(shape | luggage.shape(carried), draw)
    return None


def move_log(session: Session, asked: Namespace) -> None:
    """Copy a log to another store; what is there already is not copied again."""
    if asked.source == asked.target:
        raise Conflict("source and target are the same", hint="Name two different places.")
    _check_source(session, asked.source)
    with _engine(session, asked.source) as source, _engine(session, asked.target) as target:
        with session.progress("moving") as progress:
            records = move(source.log, target.log, progress)
        head = target.log.head
        of_a_backup = (
            luggage.files_in(source.log.file.path.parent),
            luggage.own_files(session),
        )
        carried = luggage.take_along(session, source, source.files, target.files, *of_a_backup)

    def draw(screen: Screen) -> None:
        screen.say(
            ("Moved", GOOD),
            f" {listing.plural(records, 'record')}; the target now has"
            f" {listing.plural(head, 'record')}, and every digest is the same."
            " To use it, set `store` or `home`: see `everloop settings`.",
        )
        luggage.tell(screen, carried)

    session.answer({"records": records, "head": head} | luggage.shape(carried), draw)


def _check_source(session: Session, where: str) -> None:
    """Refuse to make an empty log where one was expected."""
    if is_address(where):
        return
    path = log_file(Path(where).expanduser(), session.tenant)
    if not path.exists():
        raise NotFound(f"no log at {path}", hint="Name a data home, a log file or an address.")


def _engine(session: Session, where: str) -> Engine:
    return Engine.open(where, settings=session.settings, tenant=session.tenant, world=session.world)


def _format(asked: Namespace) -> str:
    if asked.format:
        return str(asked.format)
    return PARQUET if Path(asked.file).suffix == ".parquet" else JSONL


def _parquet(name: str) -> Carrier:
    """A function of the Parquet adapter, which an extra brings.

    Raises:
        Unavailable: the extra is not installed.
    """
    try:
        adapter: Any = importlib.import_module("everloop.adapters.parquet")
    except ImportError as problem:
        raise Unavailable(
            "Parquet archives need pyarrow, which is not installed",
            hint="Install it: pip install 'everloop[parquet]'. Or export as JSONL.",
        ) from problem
    carry: Carrier = getattr(adapter, name)
    return carry
