"""`everloop log sink`: a copy of the whole log in a warehouse, kept up to date."""

import importlib
from argparse import Namespace
from threading import Event as Signal
from typing import Any

from everloop.app import Engine
from everloop.errors import Unavailable
from everloop.interfaces.cli import fact_tables
from everloop.interfaces.cli.output.json_document import document
from everloop.interfaces.cli.output.screen import GOOD, WARNING, Screen
from everloop.interfaces.cli.session import Session
from everloop.log.transfer.warehouse import Copied, Sink

TABLE = "log"


def sink(session: Session, args: Namespace) -> None:
    """Bring the copy up to date, and with `--follow` keep it so."""
    table = open_table(session, args)
    with session.engine() as engine:
        copy = Sink(engine.log, table, session.settings.sink)
        if args.follow:
            _follow(session, engine, copy, table.name)
            return
        with session.progress("copying") as progress:
            copied = copy.catch_up(progress)
    session.answer(_shape(copied, table.name), lambda screen: _draw(screen, copied, table.name))


def open_table(session: Session, args: Namespace) -> Any:
    """The table that is meant, through the adapter that an extra brings.

    Raises:
        Unavailable: the extra is not installed.
    """
    default = TABLE if session.tenant == "local" else f"{TABLE}_{session.tenant}"
    try:
        adapter: Any = importlib.import_module("everloop.adapters.warehouse.bigquery")
    except ImportError as problem:
        raise Unavailable(
            "a copy in BigQuery needs Google's client, which is not installed",
            hint="Install it: pip install 'everloop[bigquery]'.",
        ) from problem
    return adapter.open_bigquery(args.place, args.table or default, session.settings.sink)


def _follow(session: Session, engine: Engine, copy: Sink, name: str) -> None:
    """Copy what comes, until interrupted. What passes by itself is told, and tried again."""
    pause = Signal()  # nobody sets it: it only waits
    while not engine.log.closed:
        try:
            copied = copy.catch_up()
        except Unavailable as problem:
            session.aside.say((f"{problem} Trying again later.", WARNING))
        else:
            if copied.records or copied.erased:
                _tell(session, copied, name)
        pause.wait(session.settings.sink.follow_s)


def _tell(session: Session, copied: Copied, name: str) -> None:
    if session.json:  # one document for each batch of news, as `log tail --follow` does
        session.stdout.write(document(_shape(copied, name)))
    else:
        _draw(session.screen, copied, name)
    session.stdout.flush()


def _shape(copied: Copied, name: str) -> dict[str, Any]:
    return {
        "table": name,
        "records": copied.records,
        "erased": copied.erased,
        "head": copied.head,
    }


def _draw(screen: Screen, copied: Copied, name: str) -> None:
    screen.say(
        ("Copied", GOOD),
        f" {fact_tables.plural(copied.records, 'record')} to {name}; the copy now has"
        f" {fact_tables.plural(copied.head, 'record')}.",
    )
    if copied.erased:
        screen.say(f"Erased there: {fact_tables.plural(copied.erased, 'payload')}.")
