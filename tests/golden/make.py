"""Makes the golden log of this version. Run once, before a release: `python -m tests.golden.make`.

A released golden log is never made again.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from tests.log.test_golden import Expected, views_digest

from everloop import __version__
from everloop.app import PROJECTIONS
from everloop.log import Draft, Event, Log, event
from everloop.log.archive import export_jsonl
from everloop.log.facts import NoteWritten
from everloop.testing.stage import Stage


def make() -> None:
    """Write the log and what it must come to, beside this file."""
    target = Path(__file__).parent / f"{__version__}.jsonl"
    with TemporaryDirectory() as folder:
        log = Stage().open(Path(folder) / "everloop.db", [view() for view in PROJECTIONS])
        fill(log)
        export_jsonl(log, target)
        expected = Expected(log.head, views_digest(log))
        log.close()
    target.with_suffix(".expected.json").write_bytes(msgspec.json.encode(expected) + b"\n")


def fill(log: Log) -> None:
    """Make everything happen that can happen."""
    log.append("notes", [NoteWritten(f"note {number}") for number in range(990)], actor="user")
    log.append("notes", [Draft(NoteWritten("derived"), (1, 2))], actor="agent:x")
    log.plant("tree", actor="user")
    log.append("tree:leaf", [NoteWritten("a leaf"), NoteWritten("é\u202e\x00")], actor="user")
    log.rewind(993, tree="tree", actor="user")
    retraction = log.retract([2], reason="slip", actor="user")
    log.retract([retraction.position], reason="no slip", actor="user")
    log.purge([5], reason="privacy", actor="user")
    log.append("future", [from_the_future()], actor="engine")


def from_the_future() -> Event:
    """An event of a kind that nobody declared when the log is read."""

    @event("future.thing_happened", schema=3)
    class ThingHappened(Event, frozen=True):
        """Something new."""

        shape: tuple[int, ...]

    return ThingHappened(shape=(1, 2, 3))


if __name__ == "__main__":
    make()
