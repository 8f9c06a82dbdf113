"""Three nodes behind a plain reverse proxy: one server, as far as clients can tell."""

import itertools
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx
import pytest
from tests.interfaces.http.serving import StreamEvent, frames
from tests.nodes.cluster import WAIT_S, Cluster, Node, cluster, until
from tests.nodes.proxy import RoundRobinProxy, proxy_to_nodes

from everloop.testing.postgres import PostgresServer

ENDS = (
    "thread.answer_given",
    "thread.turn_stopped",
    "thread.turn_failed",
    "thread.turn_left_uncertain",
)
pytestmark = pytest.mark.timeout(600)


class Nodes:
    """Three nodes and the proxy before them."""

    def __init__(self, nodes: Cluster, proxy: RoundRobinProxy) -> None:
        self.cluster, self.proxy = nodes, proxy

    @property
    def all(self) -> list[Node]:
        """The nodes."""
        return self.cluster.nodes

    @contextmanager
    def client(self) -> Generator[httpx.Client]:
        """A client whose first connection the proxy hands to the next node."""
        with self.cluster.client(self.proxy.url) as client:
            yield client

    def leader(self) -> Node:
        """The node that runs the turns."""

        def leads(node: Node) -> bool:
            with self.cluster.client(node.url) as client:
                tasks = client.get("/api/background").json()["tasks"]
            return any(one["name"] == "turns" and one["state"] == "running" for one in tasks)

        found: list[Node] = until(lambda: [node for node in self.all if leads(node)])
        return found[0]


@pytest.fixture(scope="module")
def nodes(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Generator[Nodes]:
    """Three nodes that run; a test that kills one starts it again."""
    folder = tmp_path_factory.mktemp("nodes")
    with postgres.fresh_database() as url, cluster(url, folder) as started:
        for _ in range(3):
            started.start()
        with proxy_to_nodes(lambda: [node.port for node in started.nodes]) as proxy:
            yield Nodes(started, proxy)


def facts(client: httpx.Client, after: int) -> Iterator[StreamEvent]:
    """The facts after a position, as they come."""
    with client.stream("GET", "/api/stream", params={"after": after}) as stream:
        yield from (one for one in frames(stream) if one.event == "fact")


def send(client: httpx.Client, text: str, request_id: str = "") -> str:
    """Send a message to the home thread; returns its turn."""
    body = {"text": text, **({"request_id": request_id} if request_id else {})}
    sent = client.post("/api/threads/home/messages", json=body)
    return str(sent.raise_for_status().json()["turn_id"])


def until_ended(client: httpx.Client, turn: str, after: int) -> list[tuple[int | None, str]]:
    """The facts of the stream up to the end of a turn."""
    seen: list[tuple[int | None, str]] = []
    for one in facts(client, after):
        seen.append((one.position, one.data["kind"]))
        if one.data["kind"] in ENDS and one.data["data"]["turn_id"] == turn:
            return seen
    raise AssertionError(f"the stream ended after {seen[-3:]}")


def until_position(client: httpx.Client, after: int, upto: int) -> list[dict[str, Any]]:
    """The facts in a range of positions, none of which may be missing."""
    seen = list(itertools.islice(facts(client, after), upto - after))
    assert [one.position for one in seen] == list(range(after + 1, upto + 1))
    return [one.data for one in seen]


def messages(client: httpx.Client) -> list[dict[str, Any]]:
    """The messages of the home thread."""
    found: list[dict[str, Any]] = client.get("/api/threads/home/messages").json()["messages"]
    return found


def is_answered(client: httpx.Client, status: int) -> bool:
    """Whether a node answers a client with this status."""
    return client.get("/api/session", timeout=WAIT_S).status_code == status


def head(client: httpx.Client) -> int:
    """The newest position that a node knows."""
    return int(client.get("/api/log", params={"limit": 1}).json()[0]["position"])


@pytest.mark.promise("P-NODES-1")
def test_one_conversation_is_in_step_on_every_node(nodes: Nodes) -> None:
    with nodes.client() as one, nodes.client() as other, nodes.client() as third:
        before = head(one)
        turn = send(one, "My sister is called Ada.")
        seen = [until_ended(client, turn, before) for client in (one, other, third)]
        assert seen[0] == seen[1] == seen[2]
        answer = send(other, "What is my sister called?")
        until_ended(one, answer, before)
        until_ended(other, answer, before)
        texts = [[message["text"] for message in messages(client)] for client in (one, other)]
        assert texts[0] == texts[1]
        assert texts[0].count("What is my sister called?") == 1


@pytest.mark.promise("P-NODES-1")
def test_sign_in_and_revocation_hold_on_every_node(nodes: Nodes) -> None:
    with nodes.client() as owner:
        code = owner.post("/api/devices/code").raise_for_status().json()["code"]
    with httpx.Client(base_url=nodes.proxy.url, timeout=WAIT_S, trust_env=False) as phone:
        signed = phone.post("/api/session", json={"code": code}).raise_for_status().json()
        cookies = dict(phone.cookies)
    key = {"x-everloop-key": signed["key"]}
    for node in nodes.all:
        with httpx.Client(base_url=node.url, cookies=cookies, headers=key, trust_env=False) as at:
            until(partial(is_answered, at, 200))
    ended = threading.Event()

    def watch() -> None:
        with httpx.Client(
            base_url=nodes.all[2].url, cookies=cookies, headers=key, timeout=WAIT_S, trust_env=False
        ) as at:
            for _ in facts(at, 0):
                pass
        ended.set()

    watching = threading.Thread(target=watch)
    watching.start()
    with nodes.cluster.client(nodes.all[0].url) as owner:
        owner.delete(f"/api/devices/{signed['device_id']}").raise_for_status()
    for node in nodes.all:
        with httpx.Client(base_url=node.url, cookies=cookies, headers=key, trust_env=False) as at:
            until(partial(is_answered, at, 401))
    assert ended.wait(WAIT_S)
    watching.join()


@pytest.mark.promise("P-NODES-1")
def test_a_stream_goes_on_when_the_node_that_answers_is_killed(nodes: Nodes) -> None:
    leader = nodes.leader()
    other = next(node for node in nodes.all if node is not leader)
    with nodes.cluster.client(other.url) as client:
        before = head(client)
        watched = facts(client, before)
        with nodes.cluster.client(leader.url) as near:
            first = send(near, "Before the kill.")
        leader.kill()
        with nodes.cluster.client(other.url) as writer:
            second = send(writer, "After the kill.")
        ended: dict[str, str] = {}
        positions: list[int | None] = []
        while {first, second} - ended.keys():
            one = next(watched)
            positions.append(one.position)
            if one.data["kind"] in ENDS:
                ended[one.data["data"]["turn_id"]] = one.data["kind"]
        assert positions == list(range(before + 1, before + 1 + len(positions)))
        assert ended[second] == "thread.answer_given"
    leader.start_again()


@pytest.mark.promise("P-NODES-1")
def test_a_rolling_restart_loses_and_repeats_nothing(nodes: Nodes) -> None:
    sent: list[str] = []
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            text = f"Message {len(sent)} of the rolling restart."
            while not try_to_send(text):
                pass
            sent.append(text)
            over.wait(0.5)

    def try_to_send(text: str) -> bool:
        """Send through the proxy, with the same id until it is acknowledged."""
        try:
            with nodes.client() as client:
                send(client, text, request_id=text)
        except (httpx.TransportError, httpx.HTTPStatusError):
            return False
        return True

    with nodes.client() as client:
        before = head(client)
    writing = threading.Thread(target=write)
    writing.start()
    ends: list[tuple[int, str]] = []
    for node in nodes.all:
        ends.append(node.end())
        node.start_again()
    over.set()
    writing.join()
    assert ends == [(0, "")] * 3
    with nodes.client() as client:
        until(lambda: client.get("/api/threads/home/turns").json() == [])
        recorded = until_position(client, before, head(client))
    said = [one["data"]["text"] for one in recorded if one["kind"] == "thread.message_sent"]
    ended = [one["data"]["turn_id"] for one in recorded if one["kind"] in ENDS]
    assert said == sent
    assert len(ended) == len(set(ended)) == len(sent) > 3
