"""Facts and words to every client: each fact is read and written down once, however many watch.

One thread follows the log; clients wait on the event loop. A client that joins gets what it missed
from the log, then what is new, without a gap and without a repetition. One that does not read is
cut off and can join again where it was; the others notice nothing.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import msgspec

from everloop.access.events import DeviceRevoked
from everloop.errors import EverloopError
from everloop.log import Fact, Log
from everloop.log.record import fact_of
from everloop.thread.live import Live, Words

BEAT_S = 15.0
KEPT = 10_000  # facts that are kept at hand for those who join
WAITING_BYTES_MAX = 1_000_000  # for one client
PAGE = 500
SECRET = ("access.",)  # kinds that stay here


class Frame(msgspec.Struct, frozen=True):
    """A piece of the stream, as it is sent. Words have no position of their own."""

    position: int
    body: bytes


BEAT = Frame(0, b": beat\n\n")


class Client:
    """One who watches. All its methods are called on the event loop."""

    def __init__(self, device_id: str) -> None:
        self.device_id = device_id
        self.cut = False
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()

    def put(self, frame: Frame) -> bool:
        """Something new; False if too much waits already, and it was cut off."""
        if self.cut:
            return True
        self._bytes += len(frame.body)
        if self._bytes > WAITING_BYTES_MAX:
            self.end()
            return False
        self._frames.append(frame)
        self._wake.set()
        return True

    def end(self) -> None:
        """Cut it off."""
        self.cut = True
        self._frames.clear()
        self._wake.set()

    async def take(self) -> list[Frame]:
        """What has come, when something has; empty if it is cut."""
        await self._wake.wait()
        frames = list(self._frames)
        self._frames.clear()
        self._bytes = 0
        self._wake.clear()
        return frames


class Broadcast:
    """What happens, for all who watch."""

    def __init__(self, log: Log, live: Live) -> None:
        self._log = log
        self._live = live
        self._clients: set[Client] = set()
        self._recent: deque[Frame] = deque(maxlen=KEPT)
        self._stop = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._leave: Callable[[], object] = bool
        self._next_beat: asyncio.TimerHandle | None = None
        self._head = 0
        self.cut_off = 0  # how many were cut off because they did not read

    @property
    def watching(self) -> int:
        """How many watch."""
        return len(self._clients)

    def start(self) -> None:
        """Begin, on the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._head = self._log.head
        self._thread = threading.Thread(target=self._follow, name="everloop-tell", daemon=True)
        self._leave = self._live.watch(self._spoken)
        self._thread.start()
        self._next_beat = self._loop.call_later(BEAT_S, self._beat)

    def close(self) -> None:
        """End, and cut everybody off."""
        self._stop.set()
        self._leave()
        if self._next_beat is not None:
            self._next_beat.cancel()
        for client in list(self._clients):
            client.end()

    async def watch(self, device_id: str, after: int | None) -> AsyncIterator[bytes]:
        """The stream for one client, from a position on; without one, from now on."""
        client = Client(device_id)
        if self._stop.is_set():
            return
        self._clients.add(client)
        try:
            seen = self._head if after is None else min(after, self._head)
            yield _frame("hello", {"position": self._head}, None)
            async for frame in self._missed(seen):
                seen = frame.position
                yield frame.body
            for words in self._live.so_far():
                yield _words("so_far", words).body
            while not client.cut:
                frames = await client.take()
                new = [one for one in frames if one.position == 0 or one.position > seen]
                seen = max([seen, *(one.position for one in new)])
                if new:
                    yield b"".join(one.body for one in new)
        finally:
            self._clients.discard(client)

    async def _missed(self, after: int) -> AsyncIterator[Frame]:
        """What happened after a position and before now: from what is at hand, else the log."""
        upto = self._head
        recent = list(self._recent)
        if recent and recent[0].position <= after + 1:
            for frame in recent:
                if after < frame.position <= upto:
                    yield frame
            return
        while after < upto:
            page = await asyncio.to_thread(self._page, after, upto)
            for frame in page:
                yield frame
            after = page[-1].position if page else upto

    def _page(self, after: int, upto: int) -> list[Frame]:
        records = self._log.records(after=after, upto=min(upto, after + PAGE))
        return [_of(fact_of(record)) for record in records]

    def _follow(self) -> None:
        with suppress(EverloopError):  # the log was closed
            for fact in self._log.follow(after=self._head, stop=self._stop):
                self._on_loop(self._tell, fact)

    def _spoken(self, words: Words) -> None:
        self._on_loop(self._put, _words("words", words))

    def _on_loop(self, act: Callable[..., None], *arguments: object) -> None:
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(act, *arguments)

    def _tell(self, fact: Fact) -> None:
        self._head = fact.position
        frame = _of(fact)
        self._recent.append(frame)
        self._put(frame)
        if isinstance(fact.event, DeviceRevoked):
            for client in list(self._clients):
                if client.device_id == fact.event.device_id:
                    client.end()

    def _beat(self) -> None:
        """One for all of them: a timer for each client would cost more than what it tells."""
        assert self._loop is not None, "it has begun"
        self._put(BEAT)
        self._next_beat = self._loop.call_later(BEAT_S, self._beat)

    def _put(self, frame: Frame) -> None:
        for client in list(self._clients):
            if not client.put(frame):
                self._clients.discard(client)
                self.cut_off += 1


def _of(fact: Fact) -> Frame:
    kind = fact.event.wire
    secret = kind.startswith(SECRET)
    told = {
        "position": fact.position,
        "kind": kind,
        "stream": fact.stream,
        "branch": fact.branch,
        "actor": fact.actor,
        "recorded_at": fact.recorded_at.isoformat(timespec="milliseconds"),
        "data": None if secret else fact.event,
    }
    return Frame(fact.position, _frame("fact", told, fact.position))


def _words(event: str, words: Words) -> Frame:
    return Frame(0, _frame(event, words, None))


def _frame(event: str, data: object, position: int | None) -> bytes:
    name = f"id: {position}\n" if position is not None else ""
    return b"".join((f"{name}event: {event}\ndata: ".encode(), msgspec.json.encode(data), b"\n\n"))
