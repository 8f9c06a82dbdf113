"""Streams an answer, whether this process or another one generates it.

Text comes from the live stream, and what was missed there from the log. Either way each character
is yielded once, and the stream ends with the fact that ends the turn.
"""

import threading
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue

import msgspec

from everloop.errors import EverloopError
from everloop.log import Fact
from everloop.services import Services
from everloop.thread import (
    AnswerGiven,
    AnswerSaved,
    SentMessage,
    ToolUsed,
    TurnFailed,
    TurnLeftUncertain,
    TurnStopped,
)
from everloop.turns import LiveText

TurnEnd = AnswerGiven | TurnStopped | TurnFailed | TurnLeftUncertain
WAKE_S = 0.2  # a Ctrl-C just before a wait begins does not interrupt it


class ToolNotice(msgspec.Struct, frozen=True):
    """A tool call during the turn."""

    name: str
    failed: bool


class AnswerStream:
    """The stream of one turn. Not thread-safe."""

    def __init__(self, running: Services, sent: SentMessage) -> None:
        self.end: TurnEnd | None = None
        self._running, self._sent = running, sent
        self._queue: SimpleQueue[LiveText | Fact] = SimpleQueue()
        self._stop = threading.Event()
        live = running.turns.live
        self._unsubscribe = live.watch(self._receive)
        self._receive(LiveText(sent.thread_id, sent.turn_id, 0, live.text(sent.turn_id)))
        self._thread = threading.Thread(target=self._follow, name="everloop-hear", daemon=True)
        self._thread.start()
        self._yielded = 0
        self._saved = 0

    def pieces(self) -> Iterator[str | ToolNotice]:
        """Yield text as it arrives, and tool calls, until the turn ends."""
        while self.end is None:
            with suppress(Empty):
                yield from self._piece(self._queue.get(timeout=WAKE_S))

    def close(self) -> None:
        """Stop listening."""
        self._unsubscribe()
        self._stop.set()
        self._thread.join()

    def _piece(self, item: LiveText | Fact) -> Iterator[str | ToolNotice]:
        if isinstance(item, LiveText):
            yield from self._new(item.offset, item.text)
        else:
            yield from self._fact(item)

    def _fact(self, fact: Fact) -> Iterator[str | ToolNotice]:
        match fact.event:
            case AnswerSaved(text=text):
                yield from self._new(self._saved, text)
                self._saved += len(text)
            case ToolUsed(name=name, failed=failed):
                yield ToolNotice(name, failed)
            case AnswerGiven() | TurnStopped() | TurnFailed() | TurnLeftUncertain() as end:
                yield from self._new(0, end.text)
                self.end = end
            case _:
                pass

    def _new(self, offset: int, text: str) -> Iterator[str]:
        """The part of a text, which starts at an offset, that was not yielded yet."""
        new = text[max(0, self._yielded - offset) :]
        if new and offset <= self._yielded:
            self._yielded = offset + len(text)
            yield new

    def _receive(self, words: LiveText) -> None:
        if words.turn_id == self._sent.turn_id and words.text and not words.thought:
            self._queue.put(words)

    def _follow(self) -> None:
        with suppress(EverloopError):  # the log was closed
            for fact in self._running.engine.follow(after=self._sent.position, stop=self._stop):
                if getattr(fact.event, "turn_id", "") == self._sent.turn_id:
                    self._queue.put(fact)
                    if isinstance(fact.event, TurnEnd):
                        return
