"""The bare side: apsw and nothing else, on the same bytes, with the same pragmas."""

from collections.abc import Iterator
from itertools import count, cycle, islice
from pathlib import Path

import apsw
import msgspec

from bench.comparison import Rate, steady
from bench.material import ACTOR, STREAM, MessageSent, messages
from bench.run_folder import RunFolder
from everloop.adapters.system import system_ports
from everloop.log.model.limits import Limits
from everloop.log.schema import MIGRATIONS
from everloop.log.sqlite.file import LogFile
from everloop.log.write.append import INSERT

ROWS = 5_000
PAGE_BYTES = 4_096

_SELECT = "SELECT data FROM log WHERE stream = ? AND branch = 'main' ORDER BY version"


def connect(path: Path) -> apsw.Connection:
    """A connection exactly as the log opens its own.

    The log checkpoints in a thread of its own, when the write-ahead file has grown to its limit.
    The bare loop has no such thread, so SQLite does it at the same size.
    """
    db = LogFile(path, [], system_ports(10)).connect()
    db.execute(f"PRAGMA wal_autocheckpoint = {Limits().wal_bytes_max // PAGE_BYTES}")
    return db


def inserts(run: RunFolder) -> Rate:
    """Insert rows as the log writes them into the same table, and commit each."""
    rows = _rows(run)
    db = connect(run.path("bare"))
    db.execute("".join(MIGRATIONS))

    def act() -> int:
        db.execute(INSERT, next(rows))
        return 1

    return steady(act)


def decodes(path: Path) -> Rate:
    """Select the JSON of a stream in order and decode each into its class."""
    db = connect(path)
    decode = msgspec.json.Decoder(MessageSent).decode

    def act() -> int:
        seen = 0
        for (data,) in db.execute(_SELECT, (STREAM,)):
            decode(data)
            seen += 1
        return seen

    return steady(act)


def _rows(run: RunFolder) -> Iterator[tuple[object, ...]]:
    """Rows without end: real ones, with positions and versions that go on counting."""
    log = run.open()
    log.append(STREAM, list(islice(messages(), ROWS)), actor=ACTOR)
    real = [msgspec.structs.astuple(record) for record in log.records()]
    for number, row in zip(count(1), cycle(real)):
        yield (number, *row[1:3], number, *row[4:])
