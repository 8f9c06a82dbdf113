"""The contract of every store: appending, reading, branching, retracting, purging."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import apsw
import pytest
from tests.log.samples import WORDS, Counted, Said, Sayings

from everloop.errors import Conflict, Invalid, NotFound, Unavailable
from everloop.log import Draft, Fact, Log, Projection, on, visible
from everloop.log.write.append import AppendRequest
from everloop.testing.deterministic import NEW_YEAR, DeterministicPorts


def texts(log: Log, stream: str = "s", *, branch: str | None = None) -> list[str]:
    """The visible texts of a stream."""
    facts = log.read(stream, branch=branch)
    return [fact.event.text for fact in facts if isinstance(fact.event, Said)]


def test_events_of_one_append_get_consecutive_positions_and_versions(log: Log) -> None:
    log.append("s", [Said("0")], actor="user")
    receipt = log.append("s", [Said("a"), Said("b")], actor="user")
    assert [(f.position, f.version) for f in receipt.facts] == [(2, 2), (3, 3)]
    assert receipt.facts[0].recorded_at == NEW_YEAR


def test_an_append_on_a_stale_version_is_a_conflict_and_writes_nothing(store: Log) -> None:
    store.append("s", [Said("a")], actor="user", expected=0)
    with pytest.raises(Conflict, match="version 1, not 0"):
        store.append("s", [Said("b")], actor="user", expected=0)
    assert texts(store) == ["a"]


@pytest.mark.promise("P-LOG-7")
def test_one_bad_event_refuses_the_whole_append(store: Log) -> None:
    with pytest.raises(Invalid):
        store.append("s", [Said("good"), Said("\ud800")], actor="user")
    assert store.head == 0


@pytest.mark.promise("P-LOG-3")
def test_the_same_request_gives_the_same_receipt(store: Log) -> None:
    first = store.append("s", [Said("a")], actor="user", request_id="r")
    again = store.append("s", [Said("a")], actor="user", request_id="r")
    assert again.repeated
    assert again.facts == first.facts
    assert store.head == 1


@pytest.mark.promise("P-LOG-3")
def test_a_repeated_request_gives_all_of_its_own_facts_and_no_others(store: Log) -> None:
    said = [Said("a"), Said("b"), Said("c")]
    store.append("s", [Said("before")], actor="user", request_id="q")
    first = store.append("s", said, actor="user", request_id="r")
    store.append("s", [Said("after")], actor="user")
    again = store.append("s", said, actor="user", request_id="r")
    assert again.repeated
    assert again.facts == first.facts
    assert store.head == 5


def test_a_request_whose_text_was_purged_is_still_answered_as_repeated(store: Log) -> None:
    said = [Said("secret"), Said("b")]
    store.append("s", said, actor="user", request_id="r")
    store.purge([1], reason="privacy", actor="user")
    again = store.append("s", said, actor="user", request_id="r")
    assert again.repeated
    assert [fact.position for fact in again.facts] == [1, 2]
    with pytest.raises(Conflict, match="used before"):
        store.append("s", [Said("secret"), Said("c")], actor="user", request_id="r")


@pytest.mark.parametrize("stream", ["s", "other"])
def test_a_request_id_used_for_something_else_is_a_conflict(store: Log, stream: str) -> None:
    store.append("s", [Said("a")], actor="user", request_id="r")
    with pytest.raises(Conflict, match="used before"):
        store.append(stream, [Said("b")], actor="user", request_id="r")


@pytest.mark.promise("P-LOG-4")
def test_time_never_goes_back_even_if_the_clock_does(log: Log, stage: DeterministicPorts) -> None:
    stage.clock.tick(hours=1)
    later = log.append("s", [Said("a")], actor="user").facts[0]
    stage.clock.tick(hours=-2)
    assert log.append("s", [Said("b")], actor="user").facts[0].recorded_at == later.recorded_at


def test_sources_of_a_derived_event_must_exist_and_count(store: Log) -> None:
    store.append("s", [Said("a")], actor="user")
    with pytest.raises(Invalid, match="does not exist"):
        store.append("s", [Draft(Said("b"), (99,))], actor="user")
    store.retract([1], reason="", actor="user")
    with pytest.raises(Conflict, match="does not count here"):
        store.append("s", [Draft(Said("b"), (1,))], actor="user")


def test_a_source_on_another_branch_is_a_conflict(store: Log) -> None:
    store.append("s", [Said("a"), Said("b")], actor="user")
    store.rewind(1, actor="user")
    with pytest.raises(Conflict, match="position 2"):
        store.append("s", [Draft(Said("c"), (2,))], actor="user")


@pytest.mark.parametrize("stream", ["", "x" * 201, "log"])
def test_an_invalid_stream_name_is_refused(store: Log, stream: str) -> None:
    with pytest.raises(Invalid, match="stream name"):
        store.append(stream, [Said("a")], actor="user")


def test_using_a_closed_log_is_a_clear_error(store: Log) -> None:
    store.close()
    with pytest.raises(Unavailable, match="closed"):
        store.append("s", [Said("a")], actor="user")
    with pytest.raises(Unavailable, match="closed"):
        list(store.read("s"))


def test_appends_of_many_threads_are_each_recorded_once(store: Log) -> None:
    def write(name: int) -> None:
        for number in range(50):
            store.append(f"s{name % 3}", [Said(f"{name}-{number}")], actor="user")

    threads = [threading.Thread(target=write, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [text for name in range(3) for text in texts(store, f"s{name}")]
    assert sorted(said) == sorted(f"{a}-{b}" for a in range(8) for b in range(50))


def test_a_failed_append_does_not_fail_those_that_share_its_commit(store: Log) -> None:
    def prepare(text: str) -> AppendRequest:
        return store.prepare_append("s", lambda _: [Draft(Said(text))], actor="user")

    first, second, third = works = [prepare(text) for text in ("a", "\ud800", "b")]
    with pytest.raises(Invalid):
        store.commit_queue.write_all(works)
    with pytest.raises(Invalid):
        second.outcome()
    assert [first.outcome().version, third.outcome().version] == [1, 2]
    assert texts(store) == ["a", "b"]


@pytest.mark.promise("P-LOG-10")
@pytest.mark.parametrize(
    ("appends", "size"), [(100, 1), pytest.param(3_400, 100, marks=pytest.mark.soak)]
)
def test_a_follower_sees_everything_once_and_in_order_while_others_write(
    store: Log, appends: int, size: int
) -> None:
    seen: list[int] = []
    stop = threading.Event()
    total = 3 * appends * size

    def listen() -> None:
        for fact in store.follow(stop=stop):
            seen.append(fact.position)
            if len(seen) == total:
                return

    listener = threading.Thread(target=listen)
    listener.start()

    def write(stream: str) -> None:
        for _ in range(appends):
            store.append(stream, [Said("x")] * size, actor="user")

    writers = [threading.Thread(target=write, args=(f"s{n}",)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    listener.join(timeout=60)
    stop.set()
    assert seen == list(range(1, total + 1))


def test_closing_the_log_ends_its_followers(store: Log) -> None:
    ended = threading.Event()

    def listen() -> None:
        for _ in store.follow():
            pass
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    store.append("s", [Said("a")], actor="user")
    store.close()
    assert ended.wait(60)


def test_a_second_log_on_the_same_file_sees_and_continues_the_first(
    log: Log, stage: DeterministicPorts, tmp_path: Path
) -> None:
    other = stage.open(tmp_path / "everloop.db", [Sayings()])
    log.append("s", [Said("a")], actor="user")
    other.append("s", [Said("b")], actor="user", expected=1)
    log.append("s", [Said("c")], actor="user", expected=2)
    other.fork(name="side", actor="user")
    log.switch_branch("side", actor="user")
    assert texts(other) == texts(log) == ["a", "b", "c"]
    other.close()


def test_a_view_that_another_process_did_not_know_is_caught_up_before_it_is_read(
    log: Log, stage: DeterministicPorts, tmp_path: Path
) -> None:
    other = stage.open(tmp_path / "everloop.db")
    other.append("s", [Said("a")], actor="user")
    other.close()
    with log.reading() as reader:
        assert reader.rows("SELECT text FROM sayings") == [("a",)]


def test_views_show_what_counts_now_and_as_of_a_past_position(
    log: Log, stage: DeterministicPorts
) -> None:
    log.append("s", [Said("a"), Said("b")], actor="user")
    stage.clock.tick(days=1)
    log.append("s", [Draft(Said("from a"), (1,)), Said("c")], actor="user")
    log.retract([1], reason="", actor="user")

    def shown(**where: object) -> list[str]:
        with log.reading(**where) as reader:  # type: ignore[arg-type]
            sql = f"SELECT text FROM sayings v WHERE {visible('v')} ORDER BY position"  # noqa: S608
            return [row[0] for row in reader.rows(sql)]

    assert shown() == ["b", "c"]
    assert shown(as_of=4) == ["a", "b", "from a", "c"]
    assert shown(as_of=NEW_YEAR + timedelta(hours=1)) == ["a", "b"]
    assert shown(as_of=NEW_YEAR - timedelta(hours=1)) == []


def test_a_read_of_the_past_uses_the_branch_that_was_current_then(log: Log) -> None:
    log.append("s", [Said("a"), Said("b")], actor="user")
    log.create_tree("thread", actor="user")
    log.append("thread:x", [Said("t")], actor="user")
    then = log.head
    log.rewind(1, actor="user")
    log.append("s", [Said("c")], actor="user")
    log.rewind(then - 1, tree="thread", actor="user")

    def shown(**where: object) -> list[str]:
        with log.reading(**where) as reader:  # type: ignore[arg-type]
            sql = f"SELECT text FROM sayings v WHERE {visible('v')} ORDER BY position"  # noqa: S608
            return [row[0] for row in reader.rows(sql)]

    def said(**where: object) -> list[object]:
        return [fact.event for fact in log.read("s", **where)]  # type: ignore[arg-type]

    assert (shown(), said()) == (["a", "c"], [Said("a"), Said("c")])
    assert (shown(as_of=then), said(as_of=then)) == (["a", "b", "t"], [Said("a"), Said("b")])
    assert shown(as_of=2) == ["a", "b"]
    side = log.branches.current["main"]
    assert shown(branch=side, as_of=then) == ["a", "t"]
    assert [fact.event for fact in log.read("thread:x", as_of=2)] == []


@pytest.mark.promise("P-LOG-11")
def test_a_rewind_hides_later_facts_and_switching_back_restores_them(store: Log) -> None:
    store.append("s", [Said("a"), Said("b")], actor="user")
    preview = store.preview_rewind(1)
    store.rewind(1, actor="user")
    store.append("s", [Said("other b")], actor="user")
    assert [touched.position for touched in preview.hides] == [2]
    assert texts(store) == ["a", "other b"]
    store.switch_branch("main", actor="user")
    assert texts(store) == ["a", "b"]


def test_the_preview_of_a_rewind_is_the_difference_that_it_makes(store: Log) -> None:
    store.create_tree("thread", actor="user")
    store.append("thread", [Said("a"), Said("b")], actor="user")
    store.append("s", [Draft(Said("from b"), (3,))], actor="user")
    store.retract([2], reason="", actor="user")
    preview = store.preview_rewind(2, tree="thread")
    assert [touched.position for touched in preview.hides] == [3, 4]
    assert [touched.position for touched in preview.restores] == [2]
    store.rewind(2, tree="thread", actor="user")
    assert (texts(store, "thread"), texts(store, "s")) == (["a"], [])


@pytest.mark.parametrize("position", [-1, 3])
def test_the_preview_refuses_a_rewind_to_a_missing_position_too(store: Log, position: int) -> None:
    store.append("s", [Said("a"), Said("b")], actor="user")
    with pytest.raises(Invalid, match="between 0 and 2"):
        store.preview_rewind(position)


@pytest.mark.promise("P-LOG-11")
def test_rewinding_one_tree_leaves_the_others_alone(store: Log) -> None:
    store.create_tree("thread", actor="user")
    store.append("thread", [Said("a"), Said("b")], actor="user")
    store.append("s", [Said("outside")], actor="user")
    store.rewind(2, tree="thread", actor="user")
    assert texts(store, "thread") == ["a"]
    assert texts(store, "s") == ["outside"]


@pytest.mark.promise("P-LOG-6")
def test_facts_derived_from_another_tree_are_hidden_when_that_tree_is_rewound(store: Log) -> None:
    store.create_tree("thread", actor="user")
    said = store.append("thread", [Said("a")], actor="user").position
    store.append("s", [Draft(Said("noted"), (said,))], actor="user")
    store.append("s", [Draft(Said("noted again"), (said + 1,))], actor="user")
    store.rewind(said - 1, tree="thread", actor="user")
    assert texts(store, "s") == []
    store.switch_branch("thread", actor="user")
    assert texts(store, "s") == ["noted", "noted again"]


@pytest.mark.parametrize("at", [-1, 99])
def test_a_fork_must_lie_inside_the_log(store: Log, at: int) -> None:
    with pytest.raises(Invalid, match=f"position {at}"):
        store.fork(at=at, actor="user")


def test_a_branch_name_can_be_used_only_once(store: Log) -> None:
    store.fork(name="side", actor="user")
    with pytest.raises(Conflict, match="side"):
        store.fork(name="side", actor="user")


@pytest.mark.promise("P-LOG-12")
def test_a_retraction_is_undone_by_retracting_it(store: Log) -> None:
    store.append("s", [Said("a")], actor="user")
    retraction = store.retract([1], reason="slip", actor="user")
    assert store.state(WORDS, "s") is None
    store.retract([retraction.position], reason="undo", actor="user")
    assert texts(store) == ["a"]


def test_a_hidden_fact_cannot_be_retracted_again(store: Log) -> None:
    store.append("s", [Said("a")], actor="user")
    store.retract([1], reason="", actor="user")
    with pytest.raises(NotFound, match="does not count"):
        store.retract([1], reason="", actor="user")
    with pytest.raises(NotFound, match="no record at position 77"):
        store.retract([77], reason="", actor="user")


def test_branch_facts_and_purges_cannot_be_retracted(store: Log) -> None:
    fork = store.fork(name="side", actor="user")
    with pytest.raises(Invalid, match=r"log\.branch_forked"):
        store.retract([fork.position], reason="", actor="user")


def test_a_retraction_on_a_branch_does_not_reach_its_parent(store: Log) -> None:
    store.append("s", [Said("a")], actor="user")
    store.fork(name="side", actor="user")
    store.switch_branch("side", actor="user")
    store.retract([1], reason="", actor="user")
    assert texts(store) == []
    assert texts(store, branch="main") == ["a"]


@pytest.mark.promise("P-LOG-13")
def test_a_purge_reaches_every_branch_and_everything_derived(store: Log) -> None:
    store.append("s", [Said("secret"), Said("b")], actor="user")
    store.append("s", [Draft(Said("about the secret"), (1,))], actor="user")
    store.fork(name="side", actor="user")
    impact = store.preview_purge([1])
    store.purge([1], reason="privacy", actor="user")
    assert [touched.position for touched in impact.hides] == [1, 3]
    assert texts(store) == texts(store, branch="side") == ["b"]
    assert store.record(1).purged
    assert store.record(3).purged


def test_purging_twice_erases_nothing_more(store: Log) -> None:
    store.append("s", [Said("secret")], actor="user")
    store.purge([1], reason="", actor="user")
    assert store.purge([1], reason="", actor="user").facts == ()


class Dangling(Projection):
    """A view with broken foreign keys, which SQLite reports at the end of a transaction."""

    name = "dangling"
    tables: ClassVar[tuple[str, ...]] = ("dangling", "dangling_to")
    schema = """
    CREATE TABLE dangling_to (position INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE dangling (
        position INTEGER PRIMARY KEY REFERENCES dangling_to DEFERRABLE INITIALLY DEFERRED
    ) STRICT
    """

    @on(Said)
    def _said(self, db: apsw.Connection, said: Said, fact: Fact) -> None:  # noqa: ARG002
        db.execute("INSERT INTO dangling VALUES (?)", (fact.position,))


def test_an_append_that_a_view_refuses_at_its_commit_is_not_acknowledged(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    log = stage.open(tmp_path / "dangling.db", [Dangling()])
    with pytest.raises(apsw.ConstraintError):
        log.append("s", [Said("a")], actor="user")
    assert log.head == 0
    assert log.append("s", [Counted(1)], actor="user").position == 1
    log.close()
