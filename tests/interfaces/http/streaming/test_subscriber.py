"""One who watches: told at once while it keeps up, told all of it in order when it does not."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from everloop.interfaces.http.streaming.subscriber import (
    WAITING_BYTES_MAX,
    Client,
    Frame,
    Message,
    message,
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


Scene = Callable[[Line, Client], Awaitable[None]]


def _play(scene: Scene, *, seen: int = 0) -> None:
    """Let a client follow from a position on while something happens."""

    async def play() -> None:
        line = Line()
        client = Client("dev-1", line.send)
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


def _put(client: Client, *positions: int) -> list[bool]:
    frames = [Frame(position, b"%d " % position) for position in positions]
    return [client.put(one, message(one.body)) for one in frames]


def test_one_who_keeps_up_is_told_within_the_call() -> None:
    async def scene(line: Line, client: Client) -> None:
        assert _put(client, 1, 2) == [True, True]
        assert line.sent == [b"1 ", b"2 "]

    _play(scene)


def test_what_there_is_no_room_for_comes_later_in_order_and_then_it_keeps_up_again() -> None:
    async def scene(line: Line, client: Client) -> None:
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


def test_what_came_while_it_caught_up_is_told_once() -> None:
    async def play() -> None:
        line = Line()
        client = Client("dev-1", line.send)
        _put(client, 4, 5, 6)
        following = asyncio.create_task(client.follow(5))
        await _settled()
        assert line.sent == [b"6 "]
        client.end()
        await following

    asyncio.run(play())


def test_one_who_has_too_much_to_read_is_cut_off() -> None:
    async def scene(line: Line, client: Client) -> None:
        line.room.clear()
        long = Frame(1, b"x" * (WAITING_BYTES_MAX // 2 + 1))
        told = [client.put(long, message(long.body)) for _ in range(3)]
        assert told == [True, True, False]  # the first is on its way, the second waits
        assert client.cut

    _play(scene)


@pytest.mark.parametrize("after", ["leaving", "being cut off"])
def test_one_who_is_gone_is_told_no_more(after: str) -> None:
    async def scene(line: Line, client: Client) -> None:
        if after == "leaving":
            line.gone = True
        else:
            client.end()
        assert _put(client, 1, 2) == [True, True]
        assert line.sent == []
        assert client.cut

    _play(scene)
