"""What every store promises about appending and reading."""

import asyncio
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from tests.log.samples import WORDS, Said, Sayings

from everloop.errors import Conflict, Invalid, NotFound, Unavailable
from everloop.log import Draft, Log, Receipt, visible
from everloop.testing.stage import NEW_YEAR, Stage


def texts(log: Log, stream: str = "s", *, branch: str | None = None) -> list[str]:
    """What was said in a stream, as it counts."""
    facts = log.read(stream, branch=branch)
    return [fact.event.text for fact in facts if isinstance(fact.event, Said)]


def test_events_of_one_append_stand_together_and_count_up(log: Log) -> None:
    log.append("s", [Said("0")], actor="user")
    receipt = log.append("s", [Said("a"), Said("b")], actor="user")
    assert [(f.position, f.version) for f in receipt.facts] == [(2, 2), (3, 3)]
    assert receipt.facts[0].recorded_at == NEW_YEAR


def test_an_append_on_a_stale_version_is_a_conflict_and_writes_nothing(log: Log) -> None:
    log.append("s", [Said("a")], actor="user", expected=0)
    with pytest.raises(Conflict, match="version 1, not 0"):
        log.append("s", [Said("b")], actor="user", expected=0)
    assert texts(log) == ["a"]


def test_one_bad_event_refuses_the_whole_append(log: Log) -> None:
    with pytest.raises(Invalid):
        log.append("s", [Said("good"), Said("\ud800")], actor="user")
    assert log.head == 0


def test_the_same_request_gives_the_same_receipt(log: Log) -> None:
    first = log.append("s", [Said("a")], actor="user", request_id="r")
    again = log.append("s", [Said("a")], actor="user", request_id="r")
    assert again.repeated
    assert again.facts == first.facts
    assert log.head == 1


@pytest.mark.parametrize("stream", ["s", "other"])
def test_a_request_id_used_for_something_else_is_a_conflict(log: Log, stream: str) -> None:
    log.append("s", [Said("a")], actor="user", request_id="r")
    with pytest.raises(Conflict, match="used before"):
        log.append(stream, [Said("b")], actor="user", request_id="r")


def test_time_never_goes_back_even_if_the_clock_does(log: Log, stage: Stage) -> None:
    stage.clock.tick(hours=1)
    later = log.append("s", [Said("a")], actor="user").facts[0]
    stage.clock.tick(hours=-2)
    assert log.append("s", [Said("b")], actor="user").facts[0].recorded_at == later.recorded_at


def test_what_is_derived_must_name_sources_that_exist_and_count(log: Log) -> None:
    log.append("s", [Said("a")], actor="user")
    with pytest.raises(Invalid, match="does not exist"):
        log.append("s", [Draft(Said("b"), (99,))], actor="user")
    log.retract([1], reason="", actor="user")
    with pytest.raises(Conflict, match="does not count here"):
        log.append("s", [Draft(Said("b"), (1,))], actor="user")


def test_a_source_on_a_branch_one_does_not_stand_on_is_a_conflict(log: Log) -> None:
    log.append("s", [Said("a"), Said("b")], actor="user")
    log.rewind(1, actor="user")
    with pytest.raises(Conflict, match="position 2"):
        log.append("s", [Draft(Said("c"), (2,))], actor="user")


@pytest.mark.parametrize("stream", ["", "x" * 201, "log"])
def test_a_stream_needs_a_usable_name(log: Log, stream: str) -> None:
    with pytest.raises(Invalid, match="stream name"):
        log.append(stream, [Said("a")], actor="user")


def test_a_closed_log_says_so(log: Log) -> None:
    log.close()
    with pytest.raises(Unavailable, match="closed"):
        log.append("s", [Said("a")], actor="user")
    with pytest.raises(Unavailable, match="closed"):
        list(log.read("s"))


def test_appends_of_many_threads_are_all_there_once(log: Log) -> None:
    def write(name: int) -> None:
        for number in range(50):
            log.append(f"s{name % 3}", [Said(f"{name}-{number}")], actor="user")

    threads = [threading.Thread(target=write, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [text for name in range(3) for text in texts(log, f"s{name}")]
    assert sorted(said) == sorted(f"{a}-{b}" for a in range(8) for b in range(50))


def test_an_event_loop_appends_without_blocking_and_in_order(log: Log) -> None:
    async def write() -> list[Receipt]:
        works = [log.append_soon("s", [Said(str(n))], actor="user") for n in range(100)]
        return await asyncio.gather(*works)

    receipts = asyncio.run(write())
    assert [receipt.version for receipt in receipts] == list(range(1, 101))
    assert texts(log) == [str(n) for n in range(100)]


def test_a_failed_append_does_not_fail_those_that_share_its_commit(log: Log) -> None:
    async def write() -> list[Receipt | BaseException]:
        works = [log.append_soon("s", [Said(text)], actor="user") for text in ("a", "\ud800", "b")]
        return await asyncio.gather(*works, return_exceptions=True)

    first, second, third = asyncio.run(write())
    assert isinstance(first, Receipt)
    assert isinstance(second, Invalid)
    assert isinstance(third, Receipt)
    assert texts(log) == ["a", "b"]


def test_a_follower_sees_everything_once_and_in_order_while_others_write(log: Log) -> None:
    seen: list[int] = []
    stop = threading.Event()

    def listen() -> None:
        for fact in log.follow(stop=stop):
            seen.append(fact.position)
            if len(seen) == 300:
                return

    listener = threading.Thread(target=listen)
    listener.start()

    def write(stream: str) -> None:
        for _ in range(100):
            log.append(stream, [Said("x")], actor="user")

    writers = [threading.Thread(target=write, args=(f"s{n}",)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    listener.join(timeout=30)
    stop.set()
    assert seen == list(range(1, 301))


def test_closing_the_log_ends_its_followers(log: Log) -> None:
    ended = threading.Event()

    def listen() -> None:
        for _ in log.follow():
            pass
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    log.append("s", [Said("a")], actor="user")
    log.close()
    assert ended.wait(10)


def test_another_opening_of_the_same_file_sees_and_continues_the_log(
    log: Log, stage: Stage, tmp_path: Path
) -> None:
    other = stage.open(tmp_path / "everloop.db", [Sayings()])
    log.append("s", [Said("a")], actor="user")
    other.append("s", [Said("b")], actor="user", expected=1)
    log.append("s", [Said("c")], actor="user", expected=2)
    other.fork(name="side", actor="user")
    log.stand("side", actor="user")
    assert texts(other) == texts(log) == ["a", "b", "c"]
    other.close()


def test_a_view_that_another_process_did_not_know_is_caught_up_before_it_is_read(
    log: Log, stage: Stage, tmp_path: Path
) -> None:
    other = stage.open(tmp_path / "everloop.db")
    other.append("s", [Said("a")], actor="user")
    other.close()
    with log.reading() as reader:
        assert reader.rows("SELECT text FROM sayings") == [("a",)]


def test_views_show_what_counts_and_the_past_as_it_stood(log: Log, stage: Stage) -> None:
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


def test_a_rewind_hides_the_future_and_standing_there_again_brings_it_back(log: Log) -> None:
    log.append("s", [Said("a"), Said("b")], actor="user")
    preview = log.preview_rewind(1)
    log.rewind(1, actor="user")
    log.append("s", [Said("other b")], actor="user")
    assert [touched.position for touched in preview.hides] == [2]
    assert texts(log) == ["a", "other b"]
    log.stand("main", actor="user")
    assert texts(log) == ["a", "b"]


def test_rewinding_one_tree_leaves_the_others_alone(log: Log) -> None:
    log.plant("thread", actor="user")
    log.append("thread", [Said("a"), Said("b")], actor="user")
    log.append("s", [Said("outside")], actor="user")
    log.rewind(2, tree="thread", actor="user")
    assert texts(log, "thread") == ["a"]
    assert texts(log, "s") == ["outside"]


def test_what_came_from_another_tree_is_gone_when_that_tree_is_rewound(log: Log) -> None:
    log.plant("thread", actor="user")
    said = log.append("thread", [Said("a")], actor="user").position
    log.append("s", [Draft(Said("noted"), (said,))], actor="user")
    log.append("s", [Draft(Said("noted again"), (said + 1,))], actor="user")
    log.rewind(said - 1, tree="thread", actor="user")
    assert texts(log, "s") == []
    log.stand("thread", actor="user")
    assert texts(log, "s") == ["noted", "noted again"]


@pytest.mark.parametrize("at", [-1, 99])
def test_a_fork_must_lie_inside_the_log(log: Log, at: int) -> None:
    with pytest.raises(Invalid, match=f"position {at}"):
        log.fork(at=at, actor="user")


def test_a_branch_name_is_given_once(log: Log) -> None:
    log.fork(name="side", actor="user")
    with pytest.raises(Conflict, match="side"):
        log.fork(name="side", actor="user")


def test_a_retraction_is_undone_by_retracting_it(log: Log) -> None:
    log.append("s", [Said("a")], actor="user")
    retraction = log.retract([1], reason="slip", actor="user")
    assert log.state(WORDS, "s") is None
    log.retract([retraction.position], reason="undo", actor="user")
    assert texts(log) == ["a"]


def test_what_does_not_count_cannot_be_retracted_again(log: Log) -> None:
    log.append("s", [Said("a")], actor="user")
    log.retract([1], reason="", actor="user")
    with pytest.raises(NotFound, match="does not count"):
        log.retract([1], reason="", actor="user")
    with pytest.raises(NotFound, match="no record at position 77"):
        log.retract([77], reason="", actor="user")


def test_branch_facts_and_purges_cannot_be_retracted(log: Log) -> None:
    fork = log.fork(name="side", actor="user")
    with pytest.raises(Invalid, match=r"log\.branch_forked"):
        log.retract([fork.position], reason="", actor="user")


def test_a_retraction_on_a_branch_does_not_reach_its_parent(log: Log) -> None:
    log.append("s", [Said("a")], actor="user")
    log.fork(name="side", actor="user")
    log.stand("side", actor="user")
    log.retract([1], reason="", actor="user")
    assert texts(log) == []
    assert texts(log, branch="main") == ["a"]


def test_a_purge_reaches_every_branch_and_everything_derived(log: Log) -> None:
    log.append("s", [Said("secret"), Said("b")], actor="user")
    log.append("s", [Draft(Said("about the secret"), (1,))], actor="user")
    log.fork(name="side", actor="user")
    impact = log.preview_purge([1])
    log.purge([1], reason="privacy", actor="user")
    assert [touched.position for touched in impact.hides] == [1, 3]
    assert texts(log) == texts(log, branch="side") == ["b"]
    assert log.record(1).purged
    assert log.record(3).purged


def test_purging_twice_erases_nothing_more(log: Log) -> None:
    log.append("s", [Said("secret")], actor="user")
    log.purge([1], reason="", actor="user")
    assert log.purge([1], reason="", actor="user").facts == ()
