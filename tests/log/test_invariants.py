"""One test for each invariant in `log/DESIGN.md` that a test can show."""

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.log.samples import WORDS, Said, Sayings, Tally, Words

from everloop.errors import Conflict, Unavailable
from everloop.log import Draft, Fact, Fold, Limits, Log, Projection, visible
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.log.read.lineage import Lineage
from everloop.log.write.append import TransactionContext
from everloop.testing.deterministic import DeterministicPorts

ALL_VIEWS: tuple[type[Projection], ...] = (Lineage, Sayings, Tally)


def lived(log: Log) -> Log:
    """A log with every kind of operation in its history."""
    log.append("s", [Said("a"), Said("b"), Said("c")], actor="user")
    log.append("s", [Draft(Said("from a"), (1,))], actor="agent:x")
    log.create_tree("thread", actor="user")
    log.append("thread", [Said("t1"), Said("t2")], actor="user")
    log.append("s", [Draft(Said("from t2"), (7,))], actor="user")
    log.rewind(6, tree="thread", actor="user")
    log.append("thread", [Said("t2 again")], actor="user")
    retraction = log.retract([1], reason="slip", actor="user")
    log.retract([retraction.position], reason="no slip", actor="user")
    log.retract([2], reason="slip", actor="user")
    log.purge([3], reason="privacy", actor="user")
    return log


def dumped(log: Log, view: str) -> list[Any]:
    """The rows of one view."""
    with log.file.reading() as reader:
        found = next(known for known in log.file.views.all if known.name == view)
        return list(found.dump(reader.db))


@pytest.mark.parametrize("view", [view.name for view in ALL_VIEWS])
@pytest.mark.promise("P-LOG-1")
def test_the_log_is_the_only_truth_every_rebuilt_view_equals_the_live_one(
    log: Log, view: str
) -> None:
    lived(log)
    live = dumped(log, view)
    rebuild_projections(log, [view])
    assert dumped(log, view) == live


@pytest.mark.promise("P-LOG-1")
def test_the_log_is_the_only_truth_a_deleted_view_is_rebuilt(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    path = tmp_path / "everloop.db"
    log = lived(stage.open(path, [Sayings(), Tally()]))
    live = dumped(log, "sayings")
    log.close()
    db = apsw.Connection(str(path))
    db.execute(
        "DROP TABLE sayings; DROP TABLE sayings_text; DELETE FROM views; DELETE FROM snapshots"
    )
    db.close()
    again = stage.open(path, [Sayings(), Tally()])
    with again.reading():
        assert dumped(again, "sayings") == live
    again.close()


@pytest.mark.promise("P-LOG-2")
def test_acknowledged_means_durable_an_append_that_returned_survives_the_process(
    tmp_path: Path,
) -> None:
    program = (
        "import os, pathlib, sys; from everloop.app import Engine;"
        "from everloop.log.model.facts import NoteWritten;"
        "engine = Engine.open(sys.argv[1]);"
        "engine.log.append('notes', [NoteWritten('kept')], actor='user'); os._exit(9)"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)  # noqa: S603
    log = DeterministicPorts().open(tmp_path / "everloop.db")
    assert ended.returncode == 9
    assert log.head == 1
    log.close()


@pytest.mark.promise("P-LOG-4")
def test_the_store_owns_time_nobody_can_backdate(log: Log) -> None:
    log.append("s", [Said("a")], actor="user")
    with log.commit_queue.write_lock, pytest.raises(Unavailable, match="never edited"):
        log.transactions.transaction(
            lambda reader: reader.db.execute("UPDATE log SET recorded_at = 0 WHERE position = 1")
        )


@pytest.mark.promise("P-LOG-8")
def test_the_log_is_append_only_even_for_ourselves(log: Log) -> None:
    log.append("s", [Said("a")], actor="user")
    with log.commit_queue.write_lock, pytest.raises(Unavailable, match="append-only"):
        log.transactions.transaction(lambda reader: reader.db.execute("DELETE FROM log"))


@pytest.mark.promise("P-LOG-5")
def test_replay_is_deterministic_in_another_process_with_another_hash_seed(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    path = tmp_path / "everloop.db"
    log = lived(stage.open(path, [Sayings(), Tally()]))
    here = repr([dumped(log, view.name) for view in ALL_VIEWS])
    log.close()
    program = (
        "import pathlib, sys; from everloop.testing.deterministic import DeterministicPorts;"
        "from everloop.log.integrity.rebuild import rebuild_projections;"
        "from tests.log.test_invariants import ALL_VIEWS, Sayings, Tally, dumped;"
        "log = DeterministicPorts().open(pathlib.Path(sys.argv[1]), [Sayings(), Tally()]);"
        "rebuild_projections(log);"
        "print(repr([dumped(log, view.name) for view in ALL_VIEWS]))"
    )
    root = Path(__file__).parents[2]
    for seed in ("1", "2"):
        ran = subprocess.run(  # noqa: S603
            [sys.executable, "-c", program, str(path)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": f"{root / 'src'}:{root}"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout.strip() == here


@pytest.mark.promise("P-LOG-6")
def test_no_ghost_state_everything_derived_from_a_retracted_fact_is_hidden(log: Log) -> None:
    log.append("s", [Said("a")], actor="user")
    for number in range(1, 5):
        log.append("s", [Draft(Said(f"from {number}"), (number,))], actor="engine")
    log.append("s", [Said("z")], actor="user")
    log.retract([1], reason="", actor="user")
    state = log.state(WORDS, "s")
    assert state is not None
    assert state.texts == ("z",)
    with log.reading() as reader:
        sql = f"SELECT text FROM sayings v WHERE {visible('v')}"  # noqa: S608
        assert reader.rows(sql) == [("z",)]


@pytest.mark.promise("P-LOG-6")
def test_no_ghost_state_a_retraction_gives_the_state_without_the_fact(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    with_it = stage.open(tmp_path / "with.db", [Sayings()])
    without = stage.open(tmp_path / "without.db", [Sayings()])
    for log in (with_it, without):
        log.append("s", [Said("a")], actor="user")
    with_it.append("s", [Said("slip")], actor="user")
    with_it.append("s", [Draft(Said("from the slip"), (2,))], actor="engine")
    for log in (with_it, without):
        log.append("s", [Said("b")], actor="user")
    with_it.retract([2], reason="", actor="user")
    assert with_it.state(WORDS, "s") == without.state(WORDS, "s")
    with_it.close()
    without.close()


@pytest.mark.promise("P-LOG-9")
def test_decisions_never_race_each_sees_the_one_before(log: Log) -> None:
    def count_up(desk: Any) -> list[Draft]:
        state = desk.state(WORDS, "s")
        return [Draft(Said(str(len(state.texts) if state else 0)))]

    def work() -> None:
        for _ in range(50):
            log.decide("s", count_up, actor="user")

    run_together(work, 6)
    state = log.state(WORDS, "s")
    assert state is not None
    assert list(state.texts) == [str(number) for number in range(300)]


@pytest.mark.promise("P-LOG-1")
def test_snapshots_are_a_cache_deleting_them_changes_nothing(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    path = tmp_path / "everloop.db"
    log = stage.open(path, limits=Limits(snapshot_every=10))
    for number in range(100):
        log.decide("s", partial(said_after, number=number), actor="user")
    with_snapshots = log.state(WORDS, "s")
    with log.file.reading() as reader:
        assert reader.rows("SELECT count(*) FROM snapshots")[0][0] > 0
    log.close()
    db = apsw.Connection(str(path))
    db.execute("DELETE FROM snapshots")
    db.close()
    again = stage.open(path)
    assert again.state(WORDS, "s") == with_snapshots
    again.close()


def test_a_snapshot_is_not_used_where_other_facts_are_hidden(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    log = stage.open(tmp_path / "everloop.db", limits=Limits(snapshot_every=1, states_kept=1))
    log.append("s", [Said("a"), Said("b")], actor="user")
    log.decide("s", lambda desk: said_after(desk, 3), actor="user")  # saves a snapshot
    log.fork(name="side", actor="user")
    log.switch_branch("side", actor="user")
    log.retract([1], reason="", actor="user")
    log.decide("s", lambda desk: said_after(desk, 4), actor="user")
    side, main = log.state(WORDS, "s"), log.state(WORDS, "s", branch="main")
    assert side is not None
    assert main is not None
    assert side.texts == ("b", "3", "4")
    assert main.texts == ("a", "b", "3")
    log.close()


def test_a_snapshot_is_used_where_only_later_facts_are_hidden(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    folded: list[int] = []

    def evolve(state: Words | None, fact: Fact) -> Words:
        folded.append(fact.position)
        return WORDS.evolve(state, fact)

    counted = Fold("sample.counted_words", Words, evolve)

    def say(number: int) -> int:
        def decide(desk: TransactionContext) -> list[Draft]:
            desk.state(counted, "s")
            return [Draft(Said(str(number)))]

        return log.decide("s", decide, actor="user").position

    log = stage.open(tmp_path / "everloop.db", limits=Limits(snapshot_every=10))
    said = [say(number) for number in range(100)]
    log.retract([said[97]], reason="slip", actor="user")
    folded.clear()
    state = log.state(counted, "s")
    assert state is not None
    assert state.texts == tuple(str(number) for number in range(100) if number != 97)
    assert len(folded) <= 20
    log.rewind(said[95], actor="user")
    folded.clear()
    state = log.state(counted, "s")
    assert state is not None
    assert state.texts == tuple(str(number) for number in range(96))
    assert len(folded) <= 20
    log.retract([said[3]], reason="slip", actor="user")
    early = log.state(counted, "s")
    assert early is not None
    assert early.texts == tuple(str(number) for number in range(96) if number != 3)
    log.close()


@pytest.mark.promise("P-LOG-7")
def test_an_error_in_a_view_fails_only_that_append(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    class Picky(Sayings):
        name = "picky"

        def fold(self, db: apsw.Connection, fact: Fact) -> None:
            super().fold(db, fact)
            if isinstance(fact.event, Said) and fact.event.text == "bad":
                raise RuntimeError("a view with a fault")

    log = stage.open(tmp_path / "everloop.db", [Picky()])
    log.append("s", [Said("a")], actor="user")
    with pytest.raises(RuntimeError, match="fault"):
        log.append("s", [Said("bad")], actor="user")
    log.append("s", [Said("b")], actor="user", expected=1)
    assert log.head == 2
    log.close()


def test_an_expected_version_is_checked_inside_the_transaction(log: Log) -> None:
    outcomes: list[str] = []

    def work() -> None:
        try:
            log.append("s", [Said("x")], actor="user", expected=0)
            outcomes.append("written")
        except Conflict:
            outcomes.append("conflict")

    run_together(work, 12)
    assert sorted(outcomes) == ["conflict"] * 11 + ["written"]


def said_after(desk: Any, number: int) -> list[Draft]:
    """Read the state inside the transaction, then append a number."""
    desk.state(WORDS, "s")
    return [Draft(Said(str(number)))]


def run_together(work: Callable[[], None], count: int) -> None:
    """Run a function in several threads at once."""
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
