"""One who watches the stream: what is new goes out at once, what it has no room for waits.

While a client keeps up, telling it something is one call: no task wakes up and no queue is filled.
When its connection is full, what comes waits for it, up to a limit; then it is cut off.
"""

import asyncio
import types
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, MutableMapping
from typing import Any

import msgspec
from fastapi.responses import StreamingResponse

WAITING_BYTES_MAX = 1_000_000  # for one client

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


class Frame(msgspec.Struct, frozen=True):
    """A piece of the stream, as it is sent. Words have no position of their own."""

    position: int
    body: bytes


def message(body: bytes) -> Message:
    """A piece as a server takes it; the same one can go to many clients."""
    return {"type": "http.response.body", "body": body, "more_body": True}


class Client:
    """One who watches. All its methods are called on the event loop."""

    def __init__(self, device_id: str, send: Send) -> None:
        self.device_id = device_id
        self.cut = False
        self._send = send
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._keeps_up = False  # whether all that came was sent
        self._begun: Awaitable[None] | None = None  # a piece that is on its way
        self._wake = asyncio.Event()

    def put(self, new: Frame, as_message: Message) -> bool:
        """Something new; False if too much waits already, and it was cut off."""
        if self.cut:
            return True
        if self._keeps_up:
            self._begin(as_message)
            return True
        self._bytes += len(new.body)
        if self._bytes > WAITING_BYTES_MAX:
            self.end()
            return False
        self._frames.append(new)
        self._wake.set()
        return True

    def end(self) -> None:
        """Cut it off."""
        self.cut = True
        self._frames.clear()
        self._wake.set()

    async def say(self, body: bytes) -> None:
        """Send something and wait until there is room for it."""
        await self._send(message(body))

    async def follow(self, seen: int) -> None:
        """Send what comes after a position, until it is cut off."""
        while not self.cut:
            if self._begun is not None:
                begun, self._begun = self._begun, None
                await begun
            new = [one for one in self._taken() if one.position == 0 or one.position > seen]
            if new:
                seen = max(seen, *(one.position for one in new))
                await self.say(b"".join(one.body for one in new))
            else:
                self._wake.clear()
                self._keeps_up = True
                await self._wake.wait()

    def _taken(self) -> Iterable[Frame]:
        frames, self._frames, self._bytes = self._frames, deque(), 0
        return frames

    def _begin(self, new: Message) -> None:
        """Send it here and now; if there is no room, the client's own task goes on with it."""
        steps = self._send(new).__await__()
        try:
            waits_for = next(steps)
        except StopIteration:
            return
        except OSError:  # it is gone
            self.end()
            return
        self._keeps_up = False
        self._begun = _rest(steps, waits_for)
        self._wake.set()


@types.coroutine
def _rest(steps: Generator[Any, Any, None], waits_for: object) -> Generator[Any, Any, None]:
    """What is left of something that was begun outside of a task, and what it waits for first."""
    yield waits_for
    yield from steps


class Watching(StreamingResponse):
    """A stream that is sent by whoever has something to tell, not taken from an iterator."""

    def __init__(self, tell: Callable[[Send], Awaitable[None]]) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__((), media_type="text/event-stream", headers=headers)
        self._tell = tell

    async def stream_response(self, send: Send) -> None:
        """Begin, tell until there is no more, and end."""
        began = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(began)
        await self._tell(send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
