"""Many nodes write at once: nothing is lost, duplicated, skipped or out of order."""

import threading
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import psycopg
import pytest
from tests.log.postgres.nodes import (
    Nodes,
    assert_sound,
    eventually,
    finish,
    processes,
    said,
    say,
    wait_for_head,
    write_in_order,
)
from tests.log.samples import Said

from everloop.errors import Unavailable
from everloop.log import Draft, Limits, Log
from everloop.log.write.append import TransactionContext

STREAMS = 5


class Slow:
    """An append that has its position but commits only when the test says so."""

    def __init__(self, log: Log, text: str = "slow") -> None:
        self._log = log
        self._text = text
        self._deciding = threading.Event()
        self._go_on = threading.Event()
        self._thread = threading.Thread(target=self._append)
        self.problem: Unavailable | None = None
        self._thread.start()
        assert self._deciding.wait(30)

    def finish(self) -> None:
        """Let it commit."""
        self._go_on.set()
        self._thread.join(30)

    def _append(self) -> None:
        try:
            self._log.decide("s", self._decide, actor="user")
        except Unavailable as problem:
            self.problem = problem

    def _decide(self, desk: TransactionContext) -> list[Draft]:
        assert desk.reader.head() == 0
        self._deciding.set()
        assert self._go_on.wait(30)
        return [Draft(Said(self._text))]


def waiting_for_a_turn(nodes: Nodes) -> bool:
    rows = nodes.ask_server(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE OF t%'"
    )
    return bool(rows[0][0])


@pytest.mark.promise("P-LOG-9")
@pytest.mark.parametrize("count", [50, pytest.param(5_000, marks=pytest.mark.soak)])
def test_appends_of_eight_processes_are_all_there_once_and_in_order(
    nodes: Nodes, count: int
) -> None:
    names = [f"node{number}" for number in range(8)]
    with processes(write_in_order, [(nodes.place, name, STREAMS, count) for name in names]) as all_:
        finish(all_)
    log = nodes.open("reader")
    assert_sound(log)
    records = list(log.records())
    assert len(records) == 8 * count
    for name in names:
        own = [r.request_id for r in records if r.request_id.startswith(f"{name}-")]
        assert own == [f"{name}-{number}" for number in range(count)]
    for _, of_stream in groupby(sorted(records, key=attrgetter("stream")), attrgetter("stream")):
        versions = [record.version for record in of_stream]
        assert versions == list(range(1, len(versions) + 1))


@pytest.mark.promise("P-PG-1")
def test_a_slow_transaction_with_a_lower_position_is_never_skipped(nodes: Nodes) -> None:
    a, b, follower = nodes.open("a"), nodes.open("b"), nodes.open("follower")
    slow = Slow(a)
    fast = threading.Thread(target=say, args=(b, "fast"))
    fast.start()
    eventually(lambda: waiting_for_a_turn(nodes))
    assert follower.head == 0
    slow.finish()
    fast.join(30)
    wait_for_head(follower, 2)
    assert said(follower) == ["slow", "fast"]


def test_control_a_naive_poller_does_skip_it(postgres_url: str) -> None:
    seen: list[str] = []
    last = 0

    def poll(db: psycopg.Connection) -> None:
        nonlocal last
        rows = db.execute("SELECT id, text FROM naive WHERE id > %s ORDER BY id", (last,))
        for number, text in rows.fetchall():
            seen.append(text)
            last = number

    with (
        psycopg.connect(postgres_url, autocommit=True) as poller,
        psycopg.connect(postgres_url) as slow,
        psycopg.connect(postgres_url) as fast,
    ):
        poller.execute("CREATE TABLE naive (id bigserial PRIMARY KEY, text text)")
        slow.execute("INSERT INTO naive (text) VALUES ('slow')")
        fast.execute("INSERT INTO naive (text) VALUES ('fast')")
        fast.commit()
        poll(poller)
        slow.commit()
        poll(poller)
    assert seen == ["fast"]


def test_waiting_too_long_for_the_write_lock_is_a_clear_error(nodes: Nodes) -> None:
    a, b = nodes.open("a"), nodes.open("b", Limits(lock_wait_s=0.1))
    slow = Slow(a)
    with pytest.raises(Unavailable, match="writing for too long") as caught:
        say(b, "impatient")
    assert caught.value.hint
    slow.finish()
    assert say(b, "patient") == 2
    assert said(b) == ["slow", "patient"]


def test_a_stalled_writer_loses_the_write_lock_and_does_not_block_others_for_ever(
    nodes: Nodes,
) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    slow = Slow(a, "too late")
    assert say(b, "in time") == 1
    slow.finish()
    assert slow.problem is not None
    assert said(a) == ["in time"]
    assert say(a, "again") == 2


def test_eight_threads_of_one_node_share_transactions(nodes: Nodes, tmp_path: Path) -> None:
    log = nodes.open("a")

    def write(name: str) -> None:
        for number in range(25):
            say(log, f"{name} {number}", stream=f"stream {name}")

    threads = [threading.Thread(target=write, args=(str(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.head == 200
    assert_sound(log)
    assert (tmp_path / "a.db").exists()
    committed = nodes.ask_server(f"SELECT count(DISTINCT xmin::text) FROM {nodes.table}")  # noqa: S608
    assert committed[0][0] < 150
