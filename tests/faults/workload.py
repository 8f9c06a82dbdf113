"""Forty appends and everything else a log can do, as steps that may each be repeated.

Each step has its own request id and a known number of records, so that a test can check whether
each step was done not at all, once, or twice.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.log.samples import WORDS, Said, Sayings, Tally, Words

from everloop.app import Engine
from everloop.log import MAIN, Command, Decider, DecisionContext, Draft, Limits, Log, Record
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts

VIEWS = (Sayings(), Tally())
LIMITS = Limits(snapshot_every=3, wal_bytes_max=65_536)
ACTOR = "user"


class Say(Command, frozen=True):
    """Say something, in a conversation that is folded first."""

    stream: str
    text: str


def say(state: Words | None, command: Say, asking: DecisionContext) -> list[Said]:
    """Say it, and how much was said before."""
    del asking
    return [Said(f"{command.text} after {len(state.texts) if state else 0}")]


DECIDERS = (Decider(Say, lambda command: command.stream, WORDS, say),)
Act = Callable[[Engine, str], object]


@dataclass(frozen=True)
class Step:
    """A step of the workload. `act` gets the request id to use."""

    request: str
    records: int
    act: Act


def open_engine(path: Path, *, vfs: str | None = None) -> Engine:
    """An engine with deterministic ports, on a given disk."""
    return engine_on(DeterministicPorts(vfs=vfs).open(path, VIEWS, limits=LIMITS))


def engine_on(log: Log) -> Engine:
    """An engine that can carry out what the workload asks of it."""
    return Engine(log, DeterministicPorts().ports, Settings(), DECIDERS)


def workload() -> list[Step]:
    """The steps. Positions are known beforehand, because each step is carried out once."""
    steps = [
        Step(f"plain-{n}", 1 + n % 3, partial(_append, f"s{n % 3}", 1 + n % 3)) for n in range(12)
    ]
    first_on_s1 = 2  # plain-0 recorded position 1
    steps += [
        Step("snapshot", 1, partial(_say, "s0")),
        Step("derived", 1, partial(_derive, first_on_s1)),
        Step("forked", 1, _fork),
        *[Step(f"aside-{n}", 1, partial(_append, "s2", 1, branch="side")) for n in range(5)],
        Step("checkpoint-1", 0, lambda engine, _: engine.log.maintenance.checkpoint()),
        Step("retracted", 1, partial(_retract, 1)),
        *[Step(f"later-{n}", 1, partial(_append, f"s{n % 2}", 1)) for n in range(6)],
        Step("purged", 1, partial(_purge, first_on_s1)),
        *[Step(f"after-{n}", 1, partial(_append, "s1", 1)) for n in range(6)],
        Step("snapshot-again", 1, partial(_say, "s1")),
        Step("rebuilt", 0, lambda engine, _: rebuild_projections(engine.log)),
        Step("rewound", 2, partial(_rewind, 10)),
        *[Step(f"new-{n}", 2, partial(_append, "s0", 2)) for n in range(6)],
        Step("checkpoint-2", 0, lambda engine, _: engine.log.maintenance.checkpoint()),
        Step("read", 0, _read),
        Step("last", 3, partial(_append, "s3", 3)),
    ]
    return steps


def steps_not_done_once(records: Iterable[Record], steps: Sequence[Step]) -> list[str]:
    """The steps that were not done exactly once, as sentences."""
    found = Counter(record.request_id for record in records)
    wanted = {step.request: step.records for step in steps}
    return [
        f"{request}: {found[request]} records instead of {wanted.get(request, 0)}"
        for request in sorted({*found, *wanted})
        if found[request] != wanted.get(request, 0)
    ]


def wrongly_folded_streams(log: Log) -> list[str]:
    """Streams whose cached state or snapshot differs from the fold of their facts."""
    wrong: list[str] = []
    for stream in ("s0", "s1", "s2", "s3"):
        state = log.state(WORDS, stream) or Words()
        events = [fact.event for fact in log.read(stream)]
        if state.texts != tuple(event.text for event in events if isinstance(event, Said)):
            wrong.append(f"the state of {stream} is not the fold of its facts")
    return wrong


def _append(
    stream: str, size: int, engine: Engine, request: str, *, branch: str | None = None
) -> object:
    said = [Said(f"{request} part {n}") for n in range(size)]
    return engine.log.append(stream, said, actor=ACTOR, request_id=request, branch=branch)


def _say(stream: str, engine: Engine, request: str) -> object:
    return engine.do(Say(stream, request), request_id=request)


def _derive(source: int, engine: Engine, request: str) -> object:
    draft = Draft(Said(request), because=(source,))
    return engine.log.append("s1", [draft], actor=ACTOR, request_id=request)


def _fork(engine: Engine, request: str) -> object:
    return engine.log.fork(parent=MAIN, at=8, name="side", actor=ACTOR, request_id=request)


def _retract(position: int, engine: Engine, request: str) -> object:
    return engine.log.retract([position], reason="wrong", actor=ACTOR, request_id=request)


def _purge(position: int, engine: Engine, request: str) -> object:
    return engine.log.purge([position], reason="private", actor=ACTOR, request_id=request)


def _rewind(to: int, engine: Engine, request: str) -> object:
    return engine.log.rewind(to, actor=ACTOR, request_id=request)


def _read(engine: Engine, request: str) -> object:
    del request
    log: Log = engine.log
    with log.reading() as reader:
        reader.rows("SELECT * FROM sayings")
    return [list(log.read("s0")), log.state(WORDS, "s1"), log.head]
