"""Several nodes, one log in PostgreSQL: each sees all of it, in the same order."""

import threading
import time
from pathlib import Path

import pytest
from tests.log.postgres.nodes import (
    Nodes,
    Place,
    assert_sound,
    full_content,
    said,
    say,
    wait_for_head,
)
from tests.log.samples import WORDS, Said

from everloop.errors import Conflict, Invalid
from everloop.log import Draft, Log
from everloop.log.postgres.schema import MIGRATIONS
from everloop.log.transfer.move import move_log
from everloop.log.write.append import TransactionContext
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.postgres import PostgresServer


def test_nodes_see_each_others_appends_in_one_order(nodes: Nodes) -> None:
    a, b, c = nodes.open("a"), nodes.open("b"), nodes.open("c")
    for number in range(20):
        say((a, b, c)[number % 3], str(number))
    for node in (a, b, c):
        wait_for_head(node, 20)
        assert said(node) == [str(number) for number in range(20)]
    assert full_content(a) == full_content(b) == full_content(c)
    assert_sound(a)


@pytest.mark.timeout(40)
def test_followers_are_notified_and_do_not_wait_for_the_next_poll(nodes: Nodes) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    rounds = 40  # which would take two looks each, and 80 seconds together

    def answer() -> None:
        for fact in b.follow():
            if fact.actor == "user":
                b.append("s", [Said("pong")], actor="agent")
            if fact.position >= 2 * rounds:
                return

    answering = threading.Thread(target=answer)
    answering.start()
    answers = (fact for fact in a.follow() if fact.actor == "agent")
    for _ in range(rounds):
        say(a, "ping")
        next(answers)
    answering.join()
    assert said(a) == ["ping", "pong"] * rounds


@pytest.mark.promise("P-PG-2")
def test_after_an_append_a_node_answers_from_views_at_least_that_new(nodes: Nodes) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    for number in range(30):
        writer = (a, b)[number % 2]
        position = say(writer, str(number))
        with writer.reading() as reader:
            newest = reader.rows(
                "SELECT position, text FROM sayings ORDER BY position DESC LIMIT 1"
            )
        assert newest == [(position, str(number))]
        assert writer.state(WORDS, "s") is not None
        assert said(writer) == [str(n) for n in range(number + 1)]


def test_a_decision_is_made_on_what_other_nodes_wrote_a_moment_ago(nodes: Nodes) -> None:
    a, b = nodes.open("a"), nodes.open("b")

    def count(log: Log) -> None:
        def decide(desk: TransactionContext) -> list[Draft]:
            words = desk.state(WORDS, "s")
            return [Draft(Said(str(len(words.texts) if words else 0)))]

        for _ in range(25):
            log.decide("s", decide, actor="user")

    threads = [threading.Thread(target=count, args=(log,)) for log in (a, b, a, b)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for_head(a, 100)
    assert said(a) == [str(number) for number in range(100)]


def test_a_version_that_another_node_moved_is_a_conflict(nodes: Nodes) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    a.append("s", [Said("first")], actor="user", expected=0)
    with pytest.raises(Conflict, match="version 1, not 0"):
        b.append("s", [Said("second")], actor="user", expected=0)
    assert said(b) == ["first"]


@pytest.mark.promise("P-LOG-3")
def test_the_same_request_at_another_node_gives_the_same_receipt(nodes: Nodes) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    first = a.append("s", [Said("once")], actor="user", request_id="r")
    again = b.append("s", [Said("once")], actor="user", request_id="r")
    assert again.repeated
    assert again.facts == first.facts
    assert said(b) == ["once"]
    with pytest.raises(Conflict):
        b.append("s", [Said("something else")], actor="user", request_id="r")


def test_branches_and_retractions_of_one_node_apply_on_all_nodes(nodes: Nodes) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    say(a, "one", "two", "three")
    b.rewind(2, actor="user")
    say(a, "other three")
    assert said(a) == ["one", "two", "other three"]
    a.retract([1], reason="wrong", actor="user")
    b.append("s", [Said("four")], actor="user")
    wait_for_head(a, b.head)
    assert said(a) == said(b) == ["two", "other three", "four"]
    assert full_content(a) == full_content(b)


def test_a_node_that_starts_later_gets_the_whole_log(nodes: Nodes) -> None:
    a = nodes.open("a")
    for start in range(0, 1_200, 400):  # more than two pages, together
        say(a, *(str(number) for number in range(start, start + 400)))
    assert full_content(nodes.open("late")) == full_content(a)


def test_time_comes_from_the_server(nodes: Nodes) -> None:
    a = nodes.open("a")
    before = nodes.ask_server("SELECT clock_timestamp()")[0][0]
    fact = a.append("s", [Said("now")], actor="user").facts[0]
    after = nodes.ask_server("SELECT clock_timestamp()")[0][0]
    assert before <= fact.recorded_at <= after


@pytest.mark.promise("P-PG-5")
def test_tenants_do_not_see_each_other(
    nodes: Nodes, postgres: PostgresServer, tmp_path: Path
) -> None:
    other = Nodes(Place(postgres.url, f"{tmp_path} other", str(tmp_path)))
    a, b = nodes.open("a"), other.open("b")
    say(a, "mine")
    say(b, "theirs", "too")
    try:
        assert (said(a), said(b)) == (["mine"], ["theirs", "too"])
        assert (a.head, b.head) == (1, 2)
        rows = nodes.ask_server(f"SELECT count(*), count(DISTINCT tenant) FROM {nodes.table}")  # noqa: S608
        assert rows == [(1, 1)]
    finally:
        other.close()


def test_nodes_that_start_at_once_create_the_tables_once(postgres_url: str, tmp_path: Path) -> None:
    nodes = Nodes(Place(postgres_url, "new", str(tmp_path)))
    barrier = threading.Barrier(8)
    problems: list[BaseException] = []

    def start(name: str) -> None:
        barrier.wait()
        try:
            say(nodes.open(name), name)
        except BaseException as problem:  # noqa: BLE001 - shown by the assertion below
            problems.append(problem)

    threads = [threading.Thread(target=start, args=(f"node {n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    made = [(number,) for number in range(1, len(MIGRATIONS) + 1)]
    assert nodes.ask_server("SELECT number FROM everloop.migrations ORDER BY 1") == made
    assert nodes.ask_server("SELECT name, head FROM everloop.tenants") == [("new", 8)]
    nodes.close()


def test_two_processes_on_one_machine_may_share_a_copy(nodes: Nodes) -> None:
    one, two = nodes.open("shared"), nodes.open("shared")
    for number in range(10):
        say((one, two)[number % 2], str(number))
    assert said(one) == said(two) == [str(number) for number in range(10)]


@pytest.mark.promise("P-LOG-16")
def test_a_log_moves_into_postgresql_and_back_with_equal_digests(
    nodes: Nodes, stage: DeterministicPorts, tmp_path: Path
) -> None:
    source, target = stage.open(tmp_path / "source.db"), nodes.open("a")
    source.append("s", [Said(str(number)) for number in range(300)], actor="user")
    source.purge([7], reason="private", actor="user")
    assert move_log(source, target) == 301
    back = stage.open(tmp_path / "back.db")
    move_log(nodes.open("another"), back)
    assert list(back.records()) == list(target.records()) == list(source.records())
    source.close()
    back.close()


def test_a_name_that_the_server_cannot_store_is_refused(nodes: Nodes) -> None:
    a = nodes.open("a")
    with pytest.raises(Invalid):
        say(a, "words", stream="nul\0")
    assert say(a, "words") == 1


def test_closing_waits_for_nothing(nodes: Nodes) -> None:
    a = nodes.open("a")
    say(a, "words")
    began = time.monotonic()
    a.close()
    assert time.monotonic() - began < 5
