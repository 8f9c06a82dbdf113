"""`everloop log sink`: copy the whole log to a data warehouse, incrementally."""

from argparse import Namespace
from pathlib import Path
from threading import Event as Signal
from typing import Any

from everloop.app import Engine
from everloop.errors import Unavailable
from everloop.interfaces.cli import fact_tables
from everloop.interfaces.cli.audience import check_can_read_everything
from everloop.interfaces.cli.output.json_document import encode_document
from everloop.interfaces.cli.output.screen import GOOD, WARNING, Screen
from everloop.interfaces.cli.session import Session
from everloop.log import SyncResult, WarehouseSync

TABLE = "log"


def sink(session: Session, args: Namespace) -> None:
    """Update the copy; with `--follow`, keep updating it.

    Raises:
        Forbidden: the actor may not read everything that is recorded.
    """
    table = open_table(session, args)
    with session.open_engine() as engine:
        check_can_read_everything(session, engine)
        copy = WarehouseSync(engine.log, table, session.settings.sink)
        if args.follow:
            _follow(session, engine, copy, table.name)
            return
        with session.progress("copying") as progress:
            copied = copy.catch_up(progress)
    session.print_result(
        _shape(copied, table.name), lambda screen: _draw(screen, copied, table.name)
    )


def open_table(session: Session, args: Namespace) -> Any:
    """Open the target table with an adapter that needs an optional dependency.

    Raises:
        Unavailable: it is not installed.
    """
    return _open_parquet(args) if args.warehouse == "parquet" else _open_bigquery(session, args)


def _open_parquet(args: Namespace) -> Any:
    try:
        from everloop.adapters import ParquetFolder  # noqa: PLC0415 - needs an extra
    except ImportError as problem:
        raise Unavailable(
            "Parquet needs pyarrow, which is not installed",
            hint="Install it: pip install 'everloop[parquet]'.",
        ) from problem
    return ParquetFolder(Path(args.place).expanduser())


def _open_bigquery(session: Session, args: Namespace) -> Any:
    default = TABLE if session.tenant == "local" else f"{TABLE}_{session.tenant}"
    try:
        from everloop.adapters import (  # noqa: PLC0415 - needs an extra
            open_bigquery,
        )
    except ImportError as problem:
        raise Unavailable(
            "BigQuery needs the Google Cloud client, which is not installed",
            hint="Install it: pip install 'everloop[bigquery]'.",
        ) from problem
    return open_bigquery(args.place, args.table or default, session.settings.sink)


def _follow(session: Session, engine: Engine, copy: WarehouseSync, name: str) -> None:
    """Copy new facts until interrupted; temporary failures are reported and retried."""
    pause = Signal()  # never set; used as an interruptible sleep
    while not engine.log.closed:
        try:
            copied = copy.catch_up()
        except Unavailable as problem:
            session.error_screen.paragraph((f"{problem} Retrying.", WARNING))
        else:
            if copied.records or copied.erased:
                _report(session, copied, name)
        pause.wait(session.settings.sink.follow_s)


def _report(session: Session, copied: SyncResult, name: str) -> None:
    if session.json:  # one document per batch, as in `log tail --follow`
        session.stdout.write(encode_document(_shape(copied, name)))
    else:
        _draw(session.screen, copied, name)
    session.stdout.flush()


def _shape(copied: SyncResult, name: str) -> dict[str, Any]:
    return {
        "table": name,
        "records": copied.records,
        "erased": copied.erased,
        "head": copied.head,
    }


def _draw(screen: Screen, copied: SyncResult, name: str) -> None:
    screen.paragraph(
        ("Copied", GOOD),
        f" {fact_tables.plural(copied.records, 'record')} to {name}; the copy now has"
        f" {fact_tables.plural(copied.head, 'record')}.",
    )
    if copied.erased:
        screen.paragraph(f"Erased {fact_tables.plural(copied.erased, 'payload')} in the copy.")
