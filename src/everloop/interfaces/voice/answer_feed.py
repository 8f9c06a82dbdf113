"""The text of one answer as it comes, for an event loop, and the fact that ends its turn.

Text comes from the live stream, and what was missed there from the log. Each character comes once.
"""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress

from everloop.errors import EverloopError
from everloop.log import Fact
from everloop.services import Services
from everloop.thread import (
    AnswerGiven,
    AnswerSaved,
    SentMessage,
    TurnFailed,
    TurnLeftUncertain,
    TurnStopped,
)
from everloop.turns import LiveText

TurnEnd = AnswerGiven | TurnStopped | TurnFailed | TurnLeftUncertain


class AnswerFeed:
    """The feed of one turn. Created and read in one event loop."""

    def __init__(self, running: Services, sent: SentMessage) -> None:
        self.end: TurnEnd | None = None
        self._running, self._sent = running, sent
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[LiveText | Fact] = asyncio.Queue()
        self._stop = threading.Event()
        self._given = self._saved = 0
        live = running.turns.live
        self._leave = live.watch(self._receive)
        self._receive(LiveText(sent.thread_id, sent.turn_id, 0, live.text(sent.turn_id)))
        self._thread = threading.Thread(target=self._follow, name="everloop-call", daemon=True)
        self._thread.start()

    async def pieces(self) -> AsyncIterator[str]:
        """The text as it comes, until the turn ends."""
        while self.end is None:
            piece = self._piece(await self._queue.get())
            if piece:
                yield piece

    async def close(self) -> None:
        """Stop listening."""
        self._leave()
        self._stop.set()
        await asyncio.to_thread(self._thread.join)

    def _piece(self, item: LiveText | Fact) -> str:
        if isinstance(item, LiveText):
            return self._new(item.offset, item.text)
        match item.event:
            case AnswerSaved(text=text):
                new = self._new(self._saved, text)
                self._saved += len(text)
                return new
            case AnswerGiven() | TurnStopped() | TurnFailed() | TurnLeftUncertain() as end:
                self.end = end
                return self._new(0, end.text)
            case _:
                return ""

    def _new(self, offset: int, text: str) -> str:
        """The part of a text, which starts at an offset, that was not given out yet."""
        new = text[max(0, self._given - offset) :]
        if not new or offset > self._given:
            return ""
        self._given = offset + len(text)
        return new

    def _receive(self, words: LiveText) -> None:
        if words.turn_id == self._sent.turn_id and words.text and not words.thought:
            self._put(words)

    def _put(self, item: LiveText | Fact) -> None:
        with suppress(RuntimeError):  # the loop is closed: the call is over
            self._loop.call_soon_threadsafe(self._queue.put_nowait, item)

    def _follow(self) -> None:
        with suppress(EverloopError):  # the log was closed
            for fact in self._running.engine.follow(after=self._sent.position, stop=self._stop):
                if getattr(fact.event, "turn_id", "") == self._sent.turn_id:
                    self._put(fact)
                    if isinstance(fact.event, TurnEnd):
                        return
