"""Group commit with failures: an error of one caller does not affect the others."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import apsw
import pytest
from tests.faults.workload import ACTOR, VIEWS
from tests.log.samples import Said

from everloop.errors import Unavailable
from everloop.log import Draft, Event, Fact, Log, Projection, on
from everloop.log.write.append import AppendRequest, TransactionContext
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.log_audit import audit
from everloop.testing.power_loss_disk import power_loss_disk


class Fussy(Projection):
    """A view that rejects some facts."""

    name = "fussy"
    tables: ClassVar[tuple[str, ...]] = ("fussy",)
    schema = "CREATE TABLE fussy (position INTEGER PRIMARY KEY, text TEXT CHECK (text <> 'check'))"

    @on(Said)
    def _said(self, db: apsw.Connection, said: Said, fact: Fact) -> None:
        if said.text == "raise":
            raise KeyError(said.text)
        db.execute("INSERT INTO fussy VALUES (?, ?)", (fact.position, said.text))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with closing(DeterministicPorts().open(tmp_path / "everloop.db", [*VIEWS, Fussy()])) as opened:
        yield opened


def work(log: Log, text: str) -> AppendRequest:
    return log.prepare_append("s", lambda _: [Draft(Said(text))], actor=ACTOR, request_id=text)


def commit(log: Log, batch: Sequence[AppendRequest]) -> None:
    """Write a batch directly, so that these appends surely share a transaction."""
    with log.commit_queue.write_lock:
        log.transactions.commit(batch)


@pytest.mark.parametrize(("bad", "error"), [("raise", KeyError), ("check", apsw.ConstraintError)])
def test_a_fact_that_a_view_rejects_fails_alone(
    log: Log, tmp_path: Path, bad: str, error: type[Exception]
) -> None:
    batch = [work(log, "one"), work(log, bad), work(log, "two")]
    commit(log, batch)
    assert [batch[0].outcome().position, batch[2].outcome().position] == [1, 2]
    with pytest.raises(error):
        batch[1].outcome()
    log.close()
    assert audit(tmp_path / "everloop.db", [*VIEWS, Fussy()]) == []


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_append_is_not_reported_as_durable(
    log: Log, interruption: type[BaseException]
) -> None:
    def interrupt(_: TransactionContext) -> list[Draft]:
        raise interruption

    before, after = work(log, "before"), work(log, "after")
    with pytest.raises(interruption):
        commit(log, [before, log.prepare_append("s", interrupt, actor=ACTOR), after])
    for waiting in (before, after):
        with pytest.raises(Unavailable, match="interrupted") as told:
            waiting.outcome()
        assert told.value.hint
    assert log.head == 0
    assert log.append("s", [Said("before")], actor=ACTOR, request_id="before").position == 1


def test_callers_are_still_served_after_a_system_exit_in_a_decision(log: Log) -> None:
    def leave(_: TransactionContext) -> list[Draft]:
        raise SystemExit

    queue, left = log.commit_queue, log.prepare_append("s", leave, actor=ACTOR)
    with ThreadPoolExecutor(1) as callers:
        with queue.write_lock:  # so that the writer thread does it
            waiting = callers.submit(queue.write, left)
            while left.done is None:
                pass
        with pytest.raises(Unavailable, match="interrupted"):
            waiting.result(timeout=60)
    assert log.append("s", [Said("later")], actor=ACTOR).position == 1


def test_an_uncommitted_rewind_is_not_visible_to_others(tmp_path: Path) -> None:
    seen: list[list[Event]] = []
    with power_loss_disk() as disk, ThreadPoolExecutor(1) as other_thread:
        log = DeterministicPorts(vfs=disk.name).open(tmp_path / "everloop.db", VIEWS)
        for number in range(5):
            log.append("s", [Said(f"{number}")], actor=ACTOR)
        events = [fact.event for fact in log.read("s")]

        def look() -> None:
            disk.before_call = lambda: None
            seen.append(
                other_thread.submit(lambda: [fact.event for fact in log.read("s")]).result()
            )

        disk.before_call = look
        log.rewind(2, actor=ACTOR)
        assert seen == [events]
        assert [fact.event for fact in log.read("s")] == events[:2]
        log.close()
