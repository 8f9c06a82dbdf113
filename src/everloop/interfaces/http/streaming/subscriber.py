"""One subscriber of the event stream, with bounded buffering (backpressure).

While a client keeps up, sending it an event is one call: no task wakes up and no queue is used.
When its connection is full, events are queued up to a limit; beyond that it is disconnected.
"""

import asyncio
import types
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, MutableMapping
from typing import Any

import msgspec
from fastapi.responses import StreamingResponse

QUEUED_BYTES_MAX = 1_000_000  # for one client

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


class Frame(msgspec.Struct, frozen=True):
    """An encoded event of the stream. Answer text has no log position: it is 0."""

    position: int
    body: bytes


def body_message(body: bytes) -> Message:
    """A frame as an ASGI message, which many clients can share."""
    return {"type": "http.response.body", "body": body, "more_body": True}


class Subscriber:
    """A subscriber of the event stream. Its methods are called on the event loop only."""

    def __init__(self, device_id: str, send: Send) -> None:
        self.device_id = device_id
        self.disconnected = False
        self._send = send
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._keeps_up = False  # whether the queue is empty and events are sent directly
        self._sending: Awaitable[None] | None = None  # a send that has not finished
        self._wake = asyncio.Event()

    def enqueue(self, new: Frame, as_message: Message) -> bool:
        """Send or queue a frame; False if the queue is full and the client was disconnected."""
        if self.disconnected:
            return True
        if self._keeps_up:
            self._send_now(as_message)
            return True
        self._bytes += len(new.body)
        if self._bytes > QUEUED_BYTES_MAX:
            self.disconnect()
            return False
        self._frames.append(new)
        self._wake.set()
        return True

    def disconnect(self) -> None:
        """Disconnect it."""
        self.disconnected = True
        self._frames.clear()
        self._wake.set()

    async def send(self, body: bytes) -> None:
        """Send bytes and wait until the connection has accepted them."""
        await self._send(body_message(body))

    async def follow(self, seen: int) -> None:
        """Send the frames after a position until the client is disconnected."""
        while not self.disconnected:
            if self._sending is not None:
                sending, self._sending = self._sending, None
                await sending
            new = [one for one in self._take_queued() if one.position == 0 or one.position > seen]
            if new:
                seen = max(seen, *(one.position for one in new))
                await self.send(b"".join(one.body for one in new))
            else:
                self._wake.clear()
                self._keeps_up = True
                await self._wake.wait()

    def _take_queued(self) -> Iterable[Frame]:
        frames, self._frames, self._bytes = self._frames, deque(), 0
        return frames

    def _send_now(self, new: Message) -> None:
        """Send without a task switch; if the connection is full, the client's task finishes it."""
        steps = self._send(new).__await__()
        try:
            waits_for = next(steps)
        except StopIteration:
            return
        except OSError:  # the client has disconnected
            self.disconnect()
            return
        self._keeps_up = False
        self._sending = _resume(steps, waits_for)
        self._wake.set()


@types.coroutine
def _resume(steps: Generator[Any, Any, None], waits_for: object) -> Generator[Any, Any, None]:
    """Finish in a task a coroutine that was started outside of one and waits for something."""
    yield waits_for
    yield from steps


class EventStreamResponse(StreamingResponse):
    """A server-sent event response that is pushed to, instead of pulled from an iterator."""

    def __init__(self, tell: Callable[[Send], Awaitable[None]]) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__((), media_type="text/event-stream", headers=headers)
        self._tell = tell

    async def stream_response(self, send: Send) -> None:
        """Send the headers, then the stream until it ends."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        await self._tell(send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
