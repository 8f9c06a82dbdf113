"""An answer as it comes, wherever it is made: in this process, or in another that conducts.

Words come as they are said or overheard; what was missed of them comes by the log. Either way each
character is given once, and the end is the fact that says how it ended.
"""

import threading
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue

import msgspec

from everloop.errors import EverloopError
from everloop.log import Fact
from everloop.running import Running
from everloop.thread.model.events import (
    AnswerGiven,
    AnswerSaved,
    ToolUsed,
    TurnFailed,
    TurnLeftUncertain,
    TurnStopped,
)
from everloop.thread.service import Sent
from everloop.thread.turns.live import Words

End = AnswerGiven | TurnStopped | TurnFailed | TurnLeftUncertain
WAKE_S = 0.2  # a Ctrl-C that comes just before a wait begins does not end the wait


class Tool(msgspec.Struct, frozen=True):
    """A tool was used meanwhile."""

    name: str
    failed: bool


class Hearing:
    """One turn, from its message to its end. Use it in one thread."""

    def __init__(self, running: Running, sent: Sent) -> None:
        self.end: End | None = None
        self._running, self._sent = running, sent
        self._heard: SimpleQueue[Words | Fact] = SimpleQueue()
        self._stop = threading.Event()
        live = running.turns.live
        self._leave = live.watch(self._words)
        self._words(Words(sent.thread_id, sent.turn_id, 0, live.text(sent.turn_id)))
        self._thread = threading.Thread(target=self._follow, name="everloop-hear", daemon=True)
        self._thread.start()
        self._shown = 0
        self._saved = 0

    def pieces(self) -> Iterator[str | Tool]:
        """Text as it comes, and the tools that were used, until the turn has ended."""
        while self.end is None:
            with suppress(Empty):
                yield from self._piece(self._heard.get(timeout=WAKE_S))

    def close(self) -> None:
        """Hear no more."""
        self._leave()
        self._stop.set()
        self._thread.join()

    def _piece(self, heard: Words | Fact) -> Iterator[str | Tool]:
        if isinstance(heard, Words):
            yield from self._new(heard.offset, heard.text)
        else:
            yield from self._fact(heard)

    def _fact(self, fact: Fact) -> Iterator[str | Tool]:
        match fact.event:
            case AnswerSaved(text=text):
                yield from self._new(self._saved, text)
                self._saved += len(text)
            case ToolUsed(name=name, failed=failed):
                yield Tool(name, failed)
            case AnswerGiven() | TurnStopped() | TurnFailed() | TurnLeftUncertain() as end:
                yield from self._new(0, end.text)
                self.end = end
            case _:
                pass

    def _new(self, offset: int, text: str) -> Iterator[str]:
        """What of a text that begins at an offset was not given yet."""
        new = text[max(0, self._shown - offset) :]
        if new and offset <= self._shown:
            self._shown = offset + len(text)
            yield new

    def _words(self, words: Words) -> None:
        if words.turn_id == self._sent.turn_id and words.text:
            self._heard.put(words)

    def _follow(self) -> None:
        with suppress(EverloopError):  # the log was closed
            for fact in self._running.engine.follow(after=self._sent.position, stop=self._stop):
                if getattr(fact.event, "turn_id", "") == self._sent.turn_id:
                    self._heard.put(fact)
                    if isinstance(fact.event, End):
                        return
