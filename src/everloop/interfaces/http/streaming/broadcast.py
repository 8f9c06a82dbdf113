"""SSE fan-out: sends facts and streamed answer text to every subscriber, encoded once each.

One thread follows the log; subscribers wait on the event loop. A subscriber that joins is first
sent what it missed, then new events, without gaps or duplicates. A slow consumer is disconnected
and can resume by position; it does not slow down the others (backpressure is per subscriber).
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager, suppress

import msgspec

from everloop.access import DeviceRevoked
from everloop.errors import EverloopError
from everloop.interfaces.http.streaming.subscriber import Frame, Subscriber, body_message
from everloop.log import Fact, Log, fact_of
from everloop.settings import ServeSettings
from everloop.turns import LiveAnswers, LiveText

RECENT_FACTS_MAX = 10_000  # recent facts cached for subscribers that join or resume
PAGE = 500
SECRET_KINDS = ("access.", "notifications.subscription_")  # kinds whose data is never sent
HEARTBEAT = Frame(0, b": beat\n\n")


class Broadcast:
    """The event stream, fanned out to all subscribers."""

    def __init__(
        self, log: Log, live: LiveAnswers, *, beat_s: float = ServeSettings().beat_s
    ) -> None:
        self._log = log
        self._live = live
        self._beat_s = beat_s
        self._ends: dict[int, tuple[str, Callable[[], object]]] = {}
        self._clients: set[Subscriber] = set()
        self._recent: deque[Frame] = deque(maxlen=RECENT_FACTS_MAX)
        self._stop = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._leave: Callable[[], object] = bool
        self._next_beat: asyncio.TimerHandle | None = None
        self._let_in: Callable[[str], bool] = bool
        self._head = 0
        self.disconnected_count = 0  # slow consumers that were disconnected

    @property
    def subscriber_count(self) -> int:
        """The number of subscribers."""
        return len(self._clients)

    def start(self, let_in: Callable[[str], bool]) -> None:
        """Start on the running event loop. A heartbeat disconnects devices that lost access."""
        self._let_in = let_in
        self._loop = asyncio.get_running_loop()
        self._head = self._log.head
        self._thread = threading.Thread(target=self._follow, name="everloop-tell", daemon=True)
        self._leave = self._live.watch(self._publish_words)
        self._thread.start()
        self._next_beat = self._loop.call_later(self._beat_s, self._beat)

    def close(self) -> None:
        """Stop, and disconnect all subscribers."""
        self._stop.set()
        self._leave()
        if self._next_beat is not None:
            self._next_beat.cancel()
        for client in list(self._clients):
            client.disconnect()
        for _, end in list(self._ends.values()):
            end()

    @contextmanager
    def call_on_revocation(self, device_id: str, end: Callable[[], object]) -> Generator[None]:
        """While open, call `end` when the device loses its access and when the server stops."""
        key = id(end)
        self._ends[key] = (device_id, end)
        try:
            yield
        finally:
            del self._ends[key]

    async def subscribe(self, client: Subscriber, after: int | None) -> None:
        """Stream events to a client from a position on; without one, from now on."""
        if self._stop.is_set():
            return
        self._clients.add(client)
        try:
            seen = self._head if after is None else min(after, self._head)
            await client.send(_encode("hello", {"position": self._head}, None))
            async for missed in self._backlog(seen):
                seen = missed.position
                await client.send(missed.body)
            for words in self._live.so_far():
                await client.send(_words_frame("so_far", words).body)
            await client.follow(seen)
        finally:
            self._clients.discard(client)

    async def _backlog(self, after: int) -> AsyncIterator[Frame]:
        """The facts between a position and now, from the cache if it reaches back, else the log."""
        upto = self._head
        recent = list(self._recent)
        if recent and recent[0].position <= after + 1:
            for one in recent:
                if after < one.position <= upto:
                    yield one
            return
        while after < upto:
            page = await asyncio.to_thread(self._page, after, upto)
            for one in page:
                yield one
            after = page[-1].position if page else upto

    def _page(self, after: int, upto: int) -> list[Frame]:
        records = self._log.records(after=after, upto=min(upto, after + PAGE))
        return [_fact_frame(fact_of(record)) for record in records]

    def _follow(self) -> None:
        with suppress(EverloopError):  # the log is closed
            for fact in self._log.follow(after=self._head, stop=self._stop):
                self._on_loop(self._publish_fact, fact)

    def _publish_words(self, words: LiveText) -> None:
        self._on_loop(self._publish, _words_frame("words", words))

    def _on_loop(self, act: Callable[..., None], *arguments: object) -> None:
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(act, *arguments)

    def _publish_fact(self, fact: Fact) -> None:
        self._head = fact.position
        new = _fact_frame(fact)
        self._recent.append(new)
        self._publish(new)
        if isinstance(fact.event, DeviceRevoked):
            self._disconnect(fact.event.device_id)

    def _disconnect(self, device_id: str) -> None:
        """End all streams and responses that are open for a device."""
        for client in list(self._clients):
            if client.device_id == device_id:
                client.disconnect()
        for its, end in list(self._ends.values()):
            if its == device_id:
                end()

    def _beat(self) -> None:
        """Send a heartbeat to all subscribers; one shared timer is cheaper than one for each."""
        assert self._loop is not None, "started"
        self._publish(HEARTBEAT)
        open_for = {client.device_id for client in self._clients}
        for device_id in open_for | {its for its, _ in self._ends.values()}:
            if not self._let_in(device_id):
                self._disconnect(device_id)
        self._next_beat = self._loop.call_later(self._beat_s, self._beat)

    def _publish(self, new: Frame) -> None:
        as_message = body_message(new.body)
        for client in list(self._clients):
            if not client.enqueue(new, as_message):
                self._clients.discard(client)
                self.disconnected_count += 1


def _fact_frame(fact: Fact) -> Frame:
    kind = fact.event.wire
    is_secret = kind.startswith(SECRET_KINDS)
    body = {
        "position": fact.position,
        "kind": kind,
        "stream": fact.stream,
        "branch": fact.branch,
        "actor": fact.actor,
        "recorded_at": fact.recorded_at.isoformat(timespec="milliseconds"),
        "data": None if is_secret else fact.event,
    }
    return Frame(fact.position, _encode("fact", body, fact.position))


def _words_frame(event: str, words: LiveText) -> Frame:
    body = {
        "thread_id": words.stream_id,
        "turn_id": words.turn_id,
        "offset": words.offset,
        "text": words.text,
        "thought": words.thought,
    }
    return Frame(0, _encode(event, body, None))


def _encode(event: str, data: object, position: int | None) -> bytes:
    name = f"id: {position}\n" if position is not None else ""
    return b"".join((f"{name}event: {event}\ndata: ".encode(), msgspec.json.encode(data), b"\n\n"))
