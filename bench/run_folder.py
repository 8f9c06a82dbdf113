"""Where a run works: a folder on the disk of the repository, emptied afterwards, and its logs.

Not the system's folder for temporary files: that may be in memory, where durable costs nothing.
"""

import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NotRequired, TypedDict

import msgspec

from bench.material import ACTOR, FOLD, STREAM, messages
from everloop.adapters.system import system_ports
from everloop.log import Draft, Log, Projection, open_log
from everloop.log.write.append import TransactionContext

BATCH = 2_000  # events in one append while a long log is filled
FLUSHES = 40
FLUSHED_BYTES = 16_384


class Scale(msgspec.Struct, frozen=True):
    """How much a run does."""

    rounds: int
    slice_s: float
    warm_s: float  # so long each side writes before it counts
    replayed: int  # events in a replay
    long: int  # events in the long log
    short: int  # events in the short one
    retracted: int  # events in the log of the retraction
    dependants: int


FULL = Scale(
    rounds=81,
    slice_s=0.05,
    warm_s=2,
    replayed=200_000,
    long=1_000_000,
    short=1_000,
    retracted=100_000,
    dependants=1_000,
)
QUICK = msgspec.structs.replace(
    FULL, rounds=21, warm_s=0.5, replayed=50_000, long=100_000, retracted=20_000
)
TINY = Scale(
    rounds=2,
    slice_s=0.01,
    warm_s=0,
    replayed=2_000,
    long=4_000,
    short=1_000,
    retracted=500,
    dependants=50,
)


class Pace(TypedDict):
    """How long a comparison goes on."""

    rounds: int
    slice_s: float
    warm_s: NotRequired[float]


class RunFolder:
    """The folder of a run and what has been made in it so far."""

    def __init__(self, folder: Path, scale: Scale) -> None:
        self.scale = scale
        self._folder = folder
        self._names = count(1)
        self._filled: dict[int, Path] = {}
        self._open = ExitStack()

    def path(self, name: str = "log") -> Path:
        """A path that nothing is at yet."""
        return self._folder / f"{next(self._names)}-{name}.db"

    def folder(self, name: str) -> Path:
        """As `path`, for what makes a folder of its own."""
        return self.path(name).with_suffix("")

    def open(self, path: Path | None = None, views: Sequence[type[Projection]] = ()) -> Log:
        """A log, new unless a path is given; it is closed at the end of the measure.

        No backups are made of it: they copy the whole file on the side, and would be measured by
        chance or not at all.
        """
        log = open_log(path or self.path(), [view() for view in views], ports=system_ports(10))
        self._open.callback(log.close)
        return log

    def filled(self, events: int) -> Path:
        """A closed log of so many messages in one stream, with a snapshot; made once in a run."""
        if events not in self._filled:
            path = self.path(f"filled-{events}")
            log = open_log(path, ports=system_ports(10))
            fill(log, events)
            log.decide(STREAM, _fold_only, actor=ACTOR)  # to decide folds, and folding much saves
            log.close()
            self._filled[events] = path
        return self._filled[events]

    def pace(self, share: float = 1) -> Pace:
        """How long a comparison goes on; a share of it, where one slice is long by nature."""
        return Pace(rounds=max(2, round(share * self.scale.rounds)), slice_s=self.scale.slice_s)

    def writing_pace(self) -> Pace:
        """As `pace`, for races of writers: a new write-ahead file has to grow before it is reused.

        To make a file longer costs a disk more than to overwrite it, so new files say little about
        a log in use.
        """
        return Pace(**self.pace(), warm_s=self.scale.warm_s)

    def flush_ms(self) -> float:
        """How long this disk takes to make a few pages durable, overwriting a file in place."""
        path = self._folder / "flushes"
        path.write_bytes(bytes(FLUSHES * FLUSHED_BYTES))
        costs: list[float] = []
        with path.open("r+b", buffering=0) as file:
            os.fsync(file.fileno())
            for _ in range(FLUSHES):
                start = perf_counter()
                file.write(os.urandom(FLUSHED_BYTES))
                os.fsync(file.fileno())
                costs.append(1_000 * (perf_counter() - start))
        return median(costs)

    def close(self) -> None:
        """Close every log that a measure opened."""
        self._open.close()


def fill(log: Log, events: int) -> None:
    """Append so many messages, many in one transaction."""
    said = messages()
    for start in range(0, events, BATCH):
        log.append(STREAM, list(islice(said, min(BATCH, events - start))), actor=ACTOR)


@contextmanager
def run_folder(beside: Path, scale: Scale) -> Generator[RunFolder]:
    """A run_folder for one run. The folder's name begins with a dot: no tool looks into it."""
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".work-", dir=beside) as folder:
        run = RunFolder(Path(folder), scale)
        try:
            yield run
        finally:
            run.close()


def _fold_only(desk: TransactionContext) -> list[Draft]:
    desk.state(FOLD, STREAM)
    return []
