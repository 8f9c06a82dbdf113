"""Answers that another node writes: word by word, over the PostgreSQL server."""

import queue
import threading
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from everloop.adapters.node_relay import PIECE_CHARACTERS, AnswerRelay
from everloop.adapters.system import system_ports
from everloop.log.postgres.sequencer import open_postgres_log
from everloop.turns.live import LiveAnswers, LiveText

WAIT_S = 60


class Node:
    """A node that relays; its watcher keeps what is published."""

    def __init__(self, url: str, path: Path) -> None:
        self.log = open_postgres_log(url, path, ports=system_ports(10))
        self.live, self.leads = LiveAnswers(), threading.Event()
        self.heard: queue.Queue[LiveText] = queue.Queue()
        self.live.watch(self.heard.put)
        self.relay = self.new_relay()

    def new_relay(self) -> AnswerRelay:
        """A relay that has begun."""
        assert self.log.messages is not None
        name = self.log.file.path.stem
        relay = AnswerRelay(self.log.messages, name, self.live, self.leads)
        relay.start()
        return relay

    def until(self, text: str) -> list[LiveText]:
        """What was heard up to a text; empty: up to an end."""
        heard: list[LiveText] = []
        while not heard or (heard[-1].text != "" if not text else text not in heard[-1].text):
            heard.append(self.heard.get(timeout=WAIT_S))
        return heard

    def close(self) -> None:
        """Stop and close."""
        self.relay.stop()
        self.log.close()


@pytest.fixture
def nodes(postgres_url: str, tmp_path: Path) -> Generator[tuple[Node, Node]]:
    """A node that writes answers, and another one."""
    with ExitStack() as stack:
        found = [Node(postgres_url, tmp_path / f"{name}.db") for name in ("writes", "listens")]
        for node in found:
            stack.callback(node.close)
        found[0].leads.set()
        yield found[0], found[1]


@pytest.mark.promise("P-NODES-1")
def test_the_words_of_an_answer_reach_the_other_node_in_order(nodes: tuple[Node, Node]) -> None:
    writes, listens = nodes
    long = "".join(f"wörd{number} " for number in range(PIECE_CHARACTERS)) + "\x01\n\x02" * 400
    writes.live.begin("home", "t1")
    for start in range(0, len(long), 100):
        writes.live.append("t1", long[start : start + 100])
    writes.live.end("t1")
    heard = listens.until("")
    assert "".join(one.text for one in heard) == long
    offsets = [one.offset for one in heard]
    assert offsets == sorted(offsets)
    assert listens.live.so_far() == []


@pytest.mark.promise("P-NODES-1")
def test_an_answer_of_a_dead_node_ends_when_another_takes_over(nodes: tuple[Node, Node]) -> None:
    writes, listens = nodes
    writes.live.begin("home", "t1")
    writes.live.append("t1", "Half an ")
    listens.until("Half an ")
    assert listens.live.text("t1") == "Half an "
    writes.relay.stop()
    listens.leads.set()
    listens.relay.clear()
    assert listens.live.so_far() == []


def test_who_comes_late_is_not_shown_a_part_as_the_whole(nodes: tuple[Node, Node]) -> None:
    writes, listens = nodes
    writes.relay.stop()  # the beginning is lost
    writes.live.begin("home", "t1")
    writes.live.append("t1", "The beginning, ")
    again = writes.new_relay()
    writes.live.append("t1", "the end.")
    writes.live.begin("home", "t2")
    writes.live.append("t2", "Another one.")
    assert [one.turn_id for one in listens.until("Another one.")] == ["t2"]
    again.stop()
