"""The event stream: no gaps, no duplicates, and it ends when access does."""

import re
import socket
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise, takewhile
from pathlib import Path

import httpx
import pytest
from tests.interfaces.http.serving import WAIT_S, Served, StreamEvent, frames, served
from tests.log.samples import Said
from tests.thread.fixtures import gate, parlour

from everloop.access.commands import RevokeDevice
from everloop.memory.model.commands import RememberItem
from everloop.memory.settings import MemorySettings
from everloop.settings import ServeSettings, Settings
from everloop.testing.model import Script


@contextmanager
def _listening(client: httpx.Client, after: int | None = None) -> Generator[httpx.Response]:
    asked = {} if after is None else {"after": str(after)}
    with client.stream("GET", "/api/stream", params=asked) as response:
        assert response.status_code == 200
        yield response


def _until(response: httpx.Response, position: int) -> list[int]:
    """The positions received up to this one."""
    found: list[int] = []
    for one in frames(response):
        if one.position is not None:
            found.append(one.position)
            if one.position >= position:
                break
    return found


@pytest.mark.promise("P-HTTP-5")
def test_a_turn_is_streamed_as_facts_and_its_answer_as_text(server: Served) -> None:
    with server.client() as client, _listening(client) as stream:
        heard = frames(stream)
        assert next(heard).event == "hello"
        sent = client.post("/api/threads/home/messages", json={"text": "Hello?"}).json()
        told: list[StreamEvent] = []
        for one in heard:
            told.append(one)
            if one.event == "fact" and one.data["kind"] == "thread.answer_given":
                break
    words = [one.data for one in told if one.event == "words"]
    assert {one["turn_id"] for one in words} == {sent["turn_id"]}
    assert "".join(one["text"] for one in words) == "Answer number 1."
    for before, after in pairwise(words):
        assert after["offset"] == before["offset"] + len(before["text"])
    kinds = [one.data["kind"] for one in told if one.event == "fact"]
    phases = [kind for kind in kinds if kind.startswith("thread.turn_")]
    assert phases == ["thread.turn_recorded", "thread.turn_sending", "thread.turn_streaming"]


def test_a_client_that_joins_during_an_answer_gets_the_whole_answer_once(tmp_path: Path) -> None:
    held = gate()
    with served(tmp_path, [["One ", "two ", held, "three."]]) as server, server.client() as client:
        with _listening(client) as first:
            client.post("/api/threads/home/messages", json={"text": "Count."})
            list(takewhile(lambda one: one.data.get("text") != "two ", frames(first)))
        with _listening(client) as second:
            heard = frames(second)
            begun = next(one for one in heard if one.event == "so_far")
            held.set()
            text = begun.data["text"]
            for one in heard:
                if one.event == "words":
                    assert one.data["offset"] <= len(text)
                    text = text[: one.data["offset"]] + one.data["text"]
                if one.event == "fact" and one.data["kind"] == "thread.answer_given":
                    break
        assert text == "One two three."


@pytest.mark.promise("P-HTTP-5")
def test_resuming_during_writes_has_no_gaps_and_no_duplicates(server: Served) -> None:
    writers, each = 3, 40
    start = server.engine.log.head
    todo = [
        threading.Thread(target=_write, args=(server, writer, each)) for writer in range(writers)
    ]
    for one in todo:
        one.start()
    seen, last = list[int](), start + writers * each
    with server.client() as client:
        while not seen or seen[-1] < last:
            after = seen[-1] if seen else start
            headers = {"last-event-id": str(after)}
            with client.stream("GET", "/api/stream", headers=headers) as stream:
                seen += _until(stream, min(after + 17, last))
    for one in todo:
        one.join()
    assert seen[: last - start] == list(range(start + 1, last + 1))


def _write(server: Served, writer: int, count: int) -> None:
    for number in range(count):
        server.engine.log.append("noise", [Said(f"{writer} {number}")], actor="user")


def test_the_stream_can_start_at_any_past_position(server: Served) -> None:
    _write(server, 1, 600)
    head = server.engine.log.head
    with server.client() as client:
        head = server.engine.log.head
        for after in (0, 1, head - 550, head - 1):
            with _listening(client, after) as stream:
                assert _until(stream, head) == list(range(after + 1, head + 1))


@pytest.mark.parametrize("name", ["99999999999999999999999", "-1", "x", "²", "", "1e3"])
def test_an_invalid_or_future_position_streams_only_new_events(server: Served, name: str) -> None:
    with server.client() as client:
        headers = [(b"last-event-id", name.encode())]
        with client.stream("GET", "/api/stream", headers=headers) as stream:
            heard = frames(stream)
            assert next(heard).data == {"position": server.engine.log.head}
            _write(server, 1, 1)
            assert next(heard).position == server.engine.log.head


@pytest.mark.promise("P-HTTP-6")
def test_revoking_a_device_closes_only_its_own_streams(server: Served) -> None:
    assert (
        min(_cut_after_s(server) for _ in range(3)) < 1
    )  # a busy machine may be late now and then


def _cut_after_s(server: Served) -> float:
    """Seconds until the streams of a revoked device, and no other, ended."""
    phone, laptop = server.credential("phone"), server.credential("laptop")
    with ExitStack() as stack:
        opened = [stack.enter_context(server.client(one)) for one in (phone, phone, laptop)]
        streams = [stack.enter_context(_listening(client)) for client in opened]
        heard = [frames(stream) for stream in streams]
        for one in heard:
            next(one)
        began = time.monotonic()
        server.engine.do(RevokeDevice(phone.device_id))
        assert len([*heard[0], *heard[1]]) <= 2  # that it was revoked, and then the end
        took_s = time.monotonic() - began
        _write(server, 1, 1)
        assert any(one.position == server.engine.log.head for one in heard[2])
        assert opened[0].get("/api/stream").status_code == 401
    return took_s


@pytest.mark.promise("P-HTTP-6")
def test_an_expired_device_is_disconnected_at_the_next_heartbeat(
    tmp_path: Path,
) -> None:
    settings = Settings(
        home=str(tmp_path), memory=MemorySettings(embedder="none"), serve=ServeSettings(beat_s=0.1)
    )
    with served(tmp_path, settings=settings) as server, ExitStack() as stack:
        old = server.credential("old")
        server.stage.clock.tick(seconds=settings.serve.device_lives_days * 86_400 - 10)
        clients = [stack.enter_context(server.client(one)) for one in (old, server.credential())]
        streams = [stack.enter_context(_listening(client)) for client in clients]
        lines = [stream.iter_lines() for stream in streams]
        for one in lines:
            assert any(line == ": beat" for line in one)  # while it holds, it goes on
        server.stage.clock.tick(seconds=11)
        list(lines[0])  # ends
        assert clients[0].get("/api/stream").status_code == 401
        assert any(line == ": beat" for line in lines[1])


def test_an_idle_stream_sends_heartbeats_at_the_configured_interval(tmp_path: Path) -> None:
    settings = Settings(
        home=str(tmp_path), memory=MemorySettings(embedder="none"), serve=ServeSettings(beat_s=0.2)
    )
    with (
        served(tmp_path, settings=settings) as server,
        server.client() as client,
        _listening(client) as stream,
    ):
        beats = (time.monotonic() for line in stream.iter_lines() if line == ": beat")
        at = [next(beats) for _ in range(8)]
    pauses = [after - before for before, after in pairwise(at)]
    assert min(pauses) < 0.4  # a busy machine may be late now and then, and never early
    assert at[-1] - at[0] > 6.5 * 0.2


def test_access_facts_are_streamed_without_their_data(server: Served) -> None:
    with server.client() as client, _listening(client, 0) as stream:
        server.credential()
        told = takewhile(lambda one: one.position != server.engine.log.head, frames(stream))
        secret = [one for one in told if one.data.get("kind", "").startswith("access.")]
    assert secret
    assert all(one.data["data"] is None for one in secret)


@pytest.mark.promise("P-HTTP-6")
def test_a_slow_consumer_is_disconnected_without_affecting_others(server: Served) -> None:
    with server.client() as client, _listening(client) as stream, _sleeper(server):
        heard = frames(stream)
        next(heard)
        assert server.broadcast.subscriber_count == 2
        _write_much(server, heard, 200)
        assert server.broadcast.disconnected_count == 1


def test_a_client_that_reads_late_gets_every_event_in_order(server: Served) -> None:
    with server.client() as client, _listening(client) as stream, _sleeper(server) as sleeper:
        heard = frames(stream)
        next(heard)
        start = server.engine.log.head
        for _ in range(3):  # it sleeps, wakes up and keeps up again
            _write_much(server, heard, 15)
            positions = _read_on(sleeper, server.engine.log.head)
            assert positions == list(range(start + 1, server.engine.log.head + 1))
            start = server.engine.log.head
        assert server.broadcast.disconnected_count == 0


@contextmanager
def _sleeper(server: Served) -> Generator[socket.socket]:
    """A slow consumer: it subscribes with a small buffer and does not read."""
    lazy = server.credential("lazy")
    asked = (
        f"GET /api/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {lazy.text}\r\n\r\n"
    )
    with socket.socket() as sleeper:
        sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        sleeper.settimeout(WAIT_S)
        sleeper.connect(("127.0.0.1", server.port))
        sleeper.sendall(asked.encode())
        greeted = b""
        while b"event: hello" not in greeted:  # before that, nobody knows of it yet
            greeted += sleeper.recv(100)
        yield sleeper


def _write_much(server: Served, heard: Iterator[StreamEvent], times: int) -> None:
    """Write long facts, which a client that reads gets at once."""
    for number in range(times):
        server.engine.log.append("noise", [Said("x" * 50_000)], actor="user")
        seen = next(one for one in heard if one.position == server.engine.log.head)
        assert seen.data["data"]["text"] == "x" * 50_000, number


def _read_on(sleeper: socket.socket, upto: int) -> list[int]:
    """Read up to a position and return all positions received."""
    text, last = b"", b"id: %d\n" % upto
    while last not in text or not text.endswith(b"\n\n\r\n"):
        text += sleeper.recv(1_000_000)
    return [int(found) for found in re.findall(rb"id: (\d+)\n", text)]


def test_a_client_that_disconnects_is_removed(server: Served) -> None:
    with server.client() as client:
        for _ in range(3):
            with _listening(client) as stream:
                next(frames(stream))
        with _listening(client) as stream:
            heard = frames(stream)
            next(heard)
            _write(server, 1, 1)
            next(one for one in heard if one.position == server.engine.log.head)
        assert server.broadcast.disconnected_count == 0


def test_an_answer_of_another_process_is_streamed_and_can_be_stopped(
    tmp_path: Path,
) -> None:
    script: list[Script] = [["Once ", "upon ", gate(), "a time."]]
    with parlour(tmp_path, script, ids_from=10_000) as chat, served(tmp_path) as server:
        assert chat.running.turns.leads.wait(30)
        for running in (chat.running, server.running):
            running.relay.start()
        with server.client() as client, _listening(client) as stream:
            sent = client.post("/api/threads/home/messages", json={"text": "Tell me."}).json()
            text, heard = "", frames(stream)
            while text != "Once upon ":
                words = next(one.data for one in heard if one.event == "words")
                assert words["offset"] == len(text)
                text += words["text"]
            assert client.post(f"/api/turns/{sent['turn_id']}/stop").status_code == 202
            chat.until_ended(sent["turn_id"])
            answer = client.get("/api/threads/home/messages").json()["messages"][-1]
        assert (answer["text"], answer["state"]) == ("Once upon ", "stopped")
        for running in (chat.running, server.running):
            running.relay.stop()


def test_streams_end_when_the_server_does(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with served(tmp_path) as server:
            client = stack.enter_context(server.client())
            stream = stack.enter_context(_listening(client))
            heard = frames(stream)
            next(heard)
        assert list(heard) == []


def test_a_memory_stored_by_another_process_is_streamed_at_once(server: Served) -> None:
    with server.client() as client, _listening(client) as stream:
        heard = frames(stream)
        next(heard)
        server.engine.do(RememberItem("mem-1", "Tea is at five."))
        told = next(one for one in heard if one.event == "fact")
    assert told.data["kind"] == "memory.remembered"
    assert told.data["data"]["text"] == "Tea is at five."


def test_a_last_event_id_that_is_no_position_is_ignored(server: Served) -> None:
    with server.client() as client:
        headers = {"last-event-id": "9" * 5_000}
        with client.stream("GET", "/api/stream?after=0", headers=headers) as stream:
            assert stream.status_code == 200
