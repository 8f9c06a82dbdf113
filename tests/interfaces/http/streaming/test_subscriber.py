"""A stream subscriber: direct sends while it keeps up, ordered queueing when it does not."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from everloop.interfaces.http.streaming.subscriber import (
    QUEUED_BYTES_MAX,
    Frame,
    Message,
    Subscriber,
    body_message,
)


class Line:
    """A connection that can be full."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.gone = False
        self.room = asyncio.Event()
        self.room.set()

    async def send(self, told: Message) -> None:
        if self.gone:
            raise ConnectionResetError
        await self.room.wait()
        self.sent.append(told["body"])


Scene = Callable[[Line, Subscriber], Awaitable[None]]


def _play(scene: Scene, *, seen: int = 0) -> None:
    """Run a scenario while a client follows from a position."""

    async def play() -> None:
        line = Line()
        client = Subscriber("dev-1", line.send)
        following = asyncio.create_task(client.follow(seen))
        await _settled()
        await scene(line, client)
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following

    asyncio.run(play())


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def _put(client: Subscriber, *positions: int) -> list[bool]:
    frames = [Frame(position, b"%d " % position) for position in positions]
    return [client.enqueue(one, body_message(one.body)) for one in frames]


def test_a_client_that_keeps_up_is_sent_events_synchronously() -> None:
    async def scene(line: Line, client: Subscriber) -> None:
        assert _put(client, 1, 2) == [True, True]
        assert line.sent == [b"1 ", b"2 "]

    _play(scene)


def test_events_queue_in_order_while_the_connection_is_full() -> None:
    async def scene(line: Line, client: Subscriber) -> None:
        for first in (1, 11):
            line.room.clear()
            _put(client, *range(first, first + 5))
            await _settled()
            assert b"%d " % first not in line.sent
            line.room.set()
            await _settled()
        _put(client, 16)
        assert b"".join(line.sent) == b"1 2 3 4 5 11 12 13 14 15 16 "

    _play(scene)


def test_events_that_arrive_during_catch_up_are_sent_once() -> None:
    async def play() -> None:
        line = Line()
        client = Subscriber("dev-1", line.send)
        _put(client, 4, 5, 6)
        following = asyncio.create_task(client.follow(5))
        await _settled()
        assert line.sent == [b"6 "]
        client.disconnect()
        await following

    asyncio.run(play())


def test_a_client_whose_queue_is_full_is_disconnected() -> None:
    async def scene(line: Line, client: Subscriber) -> None:
        line.room.clear()
        long = Frame(1, b"x" * (QUEUED_BYTES_MAX // 2 + 1))
        told = [client.enqueue(long, body_message(long.body)) for _ in range(3)]
        assert told == [True, True, False]  # the first is on its way, the second waits
        assert client.disconnected

    _play(scene)


@pytest.mark.parametrize("after", ["leaving", "being cut off"])
def test_a_client_that_left_is_sent_nothing_more(after: str) -> None:
    async def scene(line: Line, client: Subscriber) -> None:
        if after == "leaving":
            line.gone = True
        else:
            client.disconnect()
        assert _put(client, 1, 2) == [True, True]
        assert line.sent == []
        assert client.disconnected

    _play(scene)
