"""Power loss at any moment: every acknowledged append survives."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import apsw
import pytest
from tests.faults.places import scratch_folder
from tests.faults.workload import ACTOR, LIMITS, VIEWS, Say, engine_on
from tests.log.samples import Said

from everloop.app import Engine
from everloop.errors import NotFound
from everloop.log import Log, Receipt
from everloop.log.read.folded_state import StateCache
from everloop.log.read.lineage import Lineage
from everloop.log.sqlite.file import LogFile
from everloop.log.write.transaction import TransactionWriter
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.log_audit import audit, read_records
from everloop.testing.power_loss_disk import DiskImage, PowerLossDisk, power_loss_disk, write_image
from everloop.testing.seeded_random import SeededRandom

STEPS = 25  # in one session
CALLS_PER_CUT = 12
SESSIONS_PER_LOG = 4  # each goes on from what a cut of the one before left
Open = Callable[[Path, str], Log]


def open_durably(path: Path, vfs: str) -> Log:
    """Open a log with full durability, as in production."""
    return DeterministicPorts(vfs=vfs).open(path, VIEWS, limits=LIMITS)


@dataclass(frozen=True)
class Left:
    """What a power cut left, and what had been acknowledged before it."""

    image: DiskImage
    acknowledged: tuple[Receipt, ...]


NOTHING = Left({}, ())


@dataclass
class Session:
    """An engine on a disk that may lose power before any call."""

    chance: SeededRandom
    disk: PowerLossDisk
    open: Open
    path: Path
    name: str
    acknowledged: list[Receipt] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)

    def run(self) -> None:
        """Take some random steps, with cuts on the way."""
        self.disk.before_call = self._maybe_cut
        engine = self._engine()
        for number in range(STEPS):
            engine = self._step(engine, f"{self.name}-{number}")
        engine.close()

    def _engine(self) -> Engine:
        return engine_on(self.open(self.path, self.disk.name))

    def _maybe_cut(self) -> None:
        if self.chance.happens(1 / CALLS_PER_CUT):
            known = tuple(self.acknowledged)  # before: other threads go on during the cut
            self.left.append(Left(self.disk.cut(self.chance), known))

    def _step(self, engine: Engine, request: str) -> Engine:
        log = engine.log
        match self.chance.choices(
            ["append", "say", "fork", "retract", "purge", "checkpoint", "reopen"],
            [60, 8, 5, 5, 3, 8, 4],
        )[0]:
            case "append":
                self._append(log, request)
            case "say":
                self._note(engine.do(Say(self._stream(), request), request_id=request))
            case "fork":
                self._note(log.fork(name=request, actor=ACTOR, request_id=request))
            case "checkpoint":
                log.maintenance.checkpoint()
            case "reopen":
                engine.close()
                return self._engine()
            case act:
                self._take_back(log, act, request)
        return engine

    def _append(self, log: Log, request: str) -> None:
        size = self.chance.choice([1, 1, 2, 3])
        said = [
            Said(f"{request} part {n}" + "." * self.chance.randint(0, 900)) for n in range(size)
        ]
        self._note(log.append(self._stream(), said, actor=ACTOR, request_id=request))

    def _take_back(self, log: Log, act: str, request: str) -> None:
        own = [receipt.position for receipt in self.acknowledged if receipt.stream != "log"]
        if not own:
            return
        take_back = log.retract if act == "retract" else log.purge
        try:
            chosen = self.chance.choice(own)
            self._note(take_back([chosen], reason="", actor=ACTOR, request_id=request))
        except NotFound:
            return  # it was retracted before

    def _note(self, receipt: Receipt) -> None:
        self.acknowledged.append(receipt)

    def _stream(self) -> str:
        return self.chance.choice(["a", "b", "c"])


def after(left: Left) -> list[str]:
    """The problems of the log after a power loss."""
    with scratch_folder() as folder:
        path = folder / "everloop.db"
        write_image(left.image, folder)
        try:
            log = DeterministicPorts().open(path, VIEWS, limits=LIMITS)
            log.append("after", [Said("the power is back")], actor=ACTOR)
            log.close()
            return [*lost(path, left.acknowledged), *audit(path, VIEWS)]
        except Exception as problem:  # noqa: BLE001 - whatever it is, the log cannot be used
            return [f"corrupt: {problem!r}"]


def lost(path: Path, acknowledged: Sequence[Receipt]) -> list[str]:
    """Which of the acknowledged requests are not there exactly as they were acknowledged."""
    found = Counter(record.request_id for record in read_records(path))
    return [
        f"lost: {receipt.request_id}"
        for receipt in acknowledged
        if found[receipt.request_id] != len(receipt.facts)
    ]


def run_power_cuts(chance: SeededRandom, cuts: int, *, open: Open = open_durably) -> Counter[str]:
    """Run sessions with power cuts; returns the problems, with counts."""
    outcome: Counter[str] = Counter()
    sessions = 0
    start = NOTHING
    while outcome["cuts"] < cuts:
        if sessions % SESSIONS_PER_LOG == 0:
            start = NOTHING
        sessions += 1
        sound: list[Left] = []
        for left in one_session(chance, start, open, f"session-{sessions}"):
            problems = after(left)
            outcome["cuts"] += 1
            outcome.update(problem.partition(":")[0] for problem in problems)
            if not problems:
                sound.append(left)
        start = chance.choice(sound) if sound else NOTHING
    return outcome


def one_session(chance: SeededRandom, start: Left, open: Open, name: str) -> list[Left]:
    """Continue from what a power cut left, and check what the next cuts leave."""
    with scratch_folder() as folder, power_loss_disk() as disk:
        write_image(start.image, folder)
        session = Session(chance, disk, open, folder / "everloop.db", name)
        session.acknowledged.extend(start.acknowledged)
        session.run()
        return session.left


@pytest.mark.parametrize("cuts", [*[500] * 4, pytest.param(200_000, marks=pytest.mark.soak)])
@pytest.mark.promise("P-LOG-2")
def test_a_power_cut_loses_nothing_that_was_acknowledged(chance: SeededRandom, cuts: int) -> None:
    outcome = run_power_cuts(chance, cuts)
    assert outcome.pop("cuts") >= cuts
    assert outcome == {}


class CarelessFile(LogFile):
    """A log file that does not sync enough."""

    trust: ClassVar[str]

    def connect(self, *, synchronous: str = "FULL") -> apsw.Connection:
        """A connection that syncs less than it should."""
        del synchronous
        return super().connect(synchronous=self.trust)


class NormalFile(CarelessFile):
    """One that syncs at checkpoints only."""

    trust = "NORMAL"


class OffFile(CarelessFile):
    """One that never syncs."""

    trust = "OFF"


def open_without_sync(file_class: type[CarelessFile]) -> Open:
    """A way to open a log so that acknowledged does not mean durable."""

    def open_carelessly(path: Path, vfs: str) -> Log:
        ports = DeterministicPorts(vfs=vfs).ports
        file = file_class(path, [Lineage(), *VIEWS], ports)
        scribe = TransactionWriter(file, StateCache(LIMITS), ports, limits=LIMITS)
        return Log(file, scribe, ports.ids, limits=LIMITS, beside=lambda p: open_durably(p, vfs))

    return open_carelessly


@pytest.mark.parametrize("file_class", [OffFile, NormalFile])
def test_control_a_log_that_does_not_sync_loses_appends(
    chance: SeededRandom, file_class: type[CarelessFile]
) -> None:
    assert run_power_cuts(chance, 100, open=open_without_sync(file_class))["lost"] > 0
