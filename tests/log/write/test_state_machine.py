"""Any sequence of operations gives the same log in every store and in the naive model."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.faults.places import scratch_place
from tests.log.naive_model import NaiveLog
from tests.log.postgres.nodes import Place
from tests.log.samples import WORDS, Said, Sayings, Tally, Words

from everloop.errors import Conflict
from everloop.log import Draft, Limits, Log
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.log.integrity.verify import verify_log
from everloop.log.write.append import TransactionContext
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.postgres import PostgresServer

STREAMS = ("a", "b", "tree", "tree:c")
Open = Callable[[], Log]


class LogMachine(RuleBasedStateMachine):
    """Drives a log and the naive one side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="everloop-machine-", dir=scratch_place()))
        self.stage = DeterministicPorts()
        self.naive = NaiveLog()
        self.requests: dict[str, tuple[str, str, int]] = {}
        self.log = self.open()

    def open(self) -> Log:
        """Open the log under test."""
        return self.stage.open(
            self.folder / "everloop.db", [Sayings(), Tally()], limits=Limits(snapshot_every=3)
        )

    def teardown(self) -> None:
        try:
            self.check_everything()
        finally:
            self.log.close()
            shutil.rmtree(self.folder)

    # -- rules -----------------------------------------------------------------------------------

    @rule(stream=st.sampled_from(STREAMS), data=st.data(), size=st.integers(1, 3))
    def append(self, stream: str, data: st.DataObject, size: int) -> None:
        branch = self.naive.home(stream)
        because = self._sources(data, branch)
        texts = [f"{self.naive.head + n}" for n in range(size)]
        drafts = [Draft(Said(text), because) for text in texts]
        request = f"request-{self.naive.head}"
        version = self.naive.version(stream, branch)
        receipt = self.log.append(
            stream, drafts, actor="user", expected=version, request_id=request
        )
        for text in texts:
            self.naive.add(stream, branch, text, because)
        assert receipt.position == self.naive.head
        assert receipt.version == version + size
        self.requests[request] = (stream, texts[0], receipt.position)

    @rule(stream=st.sampled_from(STREAMS))
    def decide(self, stream: str) -> None:
        branch = self.naive.home(stream)
        expected = self.naive.read(stream, branch)

        def say_how_many(desk: TransactionContext) -> list[Draft]:
            state = desk.state(WORDS, stream) or Words()
            assert list(state.texts) == expected
            return [Draft(Said(f"{len(state.texts)} before"))]

        self.log.decide(stream, say_how_many, actor="user")
        self.naive.add(stream, branch, f"{len(expected)} before")

    @rule(stream=st.sampled_from(STREAMS), off=st.sampled_from([-1, 1, 7]))
    def append_on_a_stale_version(self, stream: str, off: int) -> None:
        version = self.naive.version(stream, self.naive.home(stream)) + off
        with pytest.raises(Conflict):
            self.log.append(stream, [Said("never")], actor="user", expected=version)

    @precondition(lambda self: bool(self.requests))
    @rule(data=st.data())
    def repeat_a_request(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(sorted(self.requests)))
        stream, text, position = self.requests[request]
        if any(p in self.naive.purged for p in range(1, position + 1)):
            return
        drafts = [Draft(Said(text))]
        try:
            receipt = self.log.append(stream, drafts, actor="user", request_id=request)
        except Conflict:
            return  # it had recorded more than one event, so this is another request
        assert receipt.repeated
        assert receipt.position == position

    @precondition(lambda self: "tree" not in self.naive.parents)
    @rule()
    def plant(self) -> None:
        self.log.create_tree("tree", actor="user")
        self.naive.add("log", "main")
        self.naive.parents["tree"] = None
        self.naive.standing["tree"] = "tree"

    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        parent = data.draw(st.sampled_from(sorted(self.naive.parents)))
        at = data.draw(st.integers(0, self.naive.head))
        name = f"fork-{self.naive.head}"
        self.log.fork(parent=parent, at=at, name=name, actor="user")
        self.naive.add("log", "main")
        self.naive.parents[name] = (parent, at)

    @rule(data=st.data())
    def stand(self, data: st.DataObject) -> None:
        branch = data.draw(st.sampled_from(sorted(self.naive.parents)))
        receipt = self.log.switch_branch(branch, actor="user")
        if receipt.facts:
            self.naive.add("log", "main")
        self.naive.standing[self.naive.root(branch)] = branch

    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        tree = data.draw(st.sampled_from(sorted(self.naive.standing)))
        to = data.draw(st.integers(0, self.naive.head))
        before = self._spoken(self.naive.standing[tree])
        impact = self.log.preview_rewind(to, tree=tree)
        receipt = self.log.rewind(to, tree=tree, actor="user")
        forked: Any = receipt.facts[0].event
        self.naive.add("log", "main")
        self.naive.add("log", "main")
        self.naive.parents[forked.branch] = (self.naive.standing[tree], to)
        self.naive.standing[tree] = forked.branch
        after = self._spoken(forked.branch)
        assert {t.position for t in impact.hides} == before - after
        assert {t.position for t in impact.restores} == after - before

    @rule(data=st.data())
    def retract(self, data: st.DataObject) -> None:
        tree = data.draw(st.sampled_from(sorted(self.naive.standing)))
        branch = self.naive.standing[tree]
        position = self._countable(data, branch, tree)
        if position is None:
            return
        before = self._counting(branch)
        impact = self.log.preview_retract([position])
        receipt = self.log.retract([position], reason="test", actor="user")
        self.naive.add("log", branch, targets=(position,))
        after = self._counting(branch) - {receipt.position}
        assert {t.position for t in impact.hides} == before - after
        assert {t.position for t in impact.restores} == after - before

    @rule(data=st.data())
    def purge(self, data: st.DataObject) -> None:
        own = [e.position for e in self.naive.entries if e.stream != "log"]
        if not own:
            return
        position = data.draw(st.sampled_from(own))
        receipt = self.log.purge([position], reason="test", actor="user")
        if not receipt.facts:
            return
        purged: Any = receipt.facts[0].event
        self.naive.purged |= set(purged.positions)
        self.naive.add("log", "main")

    @rule()
    def reopen(self) -> None:
        self.log.close()
        self.log = self.open()

    @rule()
    def rebuild_views(self) -> None:
        rebuild_projections(self.log)

    # -- what must hold --------------------------------------------------------------------------

    @invariant()
    def every_stream_reads_the_same(self) -> None:
        assert self.log.head == self.naive.head
        for stream in STREAMS:
            branch = self.naive.home(stream)
            expected = self.naive.read(stream, branch)
            assert _texts(self.log, stream) == expected
            folded = self.log.state(WORDS, stream) or Words()
            assert list(folded.texts) == expected

    def check_everything(self) -> None:
        """What is too slow to check after every step."""
        for branch in self.naive.parents:
            for stream in STREAMS:
                assert _texts(self.log, stream, branch) == self.naive.read(stream, branch)
                folded = self.log.state(WORDS, stream, branch=branch) or Words()
                assert list(folded.texts) == self.naive.read(stream, branch)
        assert verify_log(self.log).ok
        assert _rebuilt_equals_live(self.log)

    # -- drawing ---------------------------------------------------------------------------------

    def _counting(self, branch: str) -> set[int]:
        return {e.position for e in self.naive.entries if self.naive.counts(e.position, branch)}

    def _spoken(self, branch: str) -> set[int]:
        return {p for p in self._counting(branch) if self.naive.entries[p - 1].stream != "log"}

    def _sources(self, data: st.DataObject, branch: str) -> tuple[int, ...]:
        own = [
            e.position
            for e in self.naive.entries
            if e.stream != "log" and self.naive.counts(e.position, branch)
        ]
        if not own:
            return ()
        return tuple(sorted(data.draw(st.sets(st.sampled_from(own), max_size=2))))

    def _countable(self, data: st.DataObject, branch: str, tree: str) -> int | None:
        own = [
            e.position
            for e in self.naive.entries
            if (e.stream != "log" or e.targets)
            and self.naive.root(e.branch) == tree
            and self.naive.counts(e.position, branch)
        ]
        return data.draw(st.sampled_from(own)) if own else None


def _texts(log: Log, stream: str, branch: str | None = None) -> list[str]:
    facts = log.read(stream, branch=branch)
    return [fact.event.text for fact in facts if isinstance(fact.event, Said)]


def _rebuilt_equals_live(log: Log) -> bool:
    def dump() -> list[Any]:
        with log.file.reading() as reader:
            return [list(view.dump(reader.db)) for view in log.file.views.all]

    live = dump()
    rebuild_projections(log)
    return live == dump()


class SqliteMachine(LogMachine):
    """On a SQLite file."""


SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much]


@pytest.mark.timeout(7_200)
def test_sqlite_agrees_with_the_naive_log(soaking: bool) -> None:
    examples = settings(
        max_examples=5_000 if soaking else 100, stateful_step_count=40, suppress_health_check=SLOW
    )
    run_state_machine_as_test(SqliteMachine, settings=examples)


class PostgresMachine(LogMachine):
    """On a PostgreSQL server, with the node's copy in a file; sometimes the copy is lost."""

    server: ClassVar[PostgresServer]

    def open(self) -> Log:
        """Open a node of a tenant of its own."""
        place = Place(self.server.url, tenant=self.folder.name, folder=str(self.folder))
        return place.open("node", Limits(snapshot_every=3))

    @rule()
    def lose_the_copy(self) -> None:
        self.log.close()
        for file in self.folder.glob("node.db*"):
            file.unlink()
        self.log = self.open()


@pytest.mark.timeout(7_200)
def test_postgres_agrees_with_the_naive_log(postgres: PostgresServer, soaking: bool) -> None:
    PostgresMachine.server = postgres
    examples = settings(
        max_examples=2_000 if soaking else 15, stateful_step_count=25, suppress_health_check=SLOW
    )
    run_state_machine_as_test(PostgresMachine, settings=examples)
