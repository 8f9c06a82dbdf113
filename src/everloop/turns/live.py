"""Live text of answers that stream now, for everybody who watches.

A watcher gets the facts from the log and the text from here. Every piece carries its offset in the
answer, so a watcher who joins late takes the text so far and loses or repeats nothing.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec


class LiveText(msgspec.Struct, frozen=True):
    """A piece of an answer and its offset in it. An empty piece means that the answer ended."""

    stream_id: str
    turn_id: str
    offset: int
    text: str


Watch = Callable[[LiveText], None]


class LiveAnswers:
    """The answers that stream now. Safe from any thread; a watcher must not block."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, str]] = {}
        self._watches: list[Watch] = []
        self._lock = threading.Lock()

    def watch(self, watch: Watch) -> Callable[[], None]:
        """Pass on every piece from now on; the returned function ends it."""
        with self._lock:
            self._watches.append(watch)

        def leave() -> None:
            with self._lock, suppress(ValueError):
                self._watches.remove(watch)

        return leave

    def so_far(self) -> list[LiveText]:
        """The text so far of every answer that streams now."""
        with self._lock:
            return [
                LiveText(stream_id, turn_id, 0, text)
                for turn_id, (stream_id, text) in self._texts.items()
            ]

    def begin(self, stream_id: str, turn_id: str) -> None:
        """Open an answer."""
        with self._lock:
            self._texts[turn_id] = (stream_id, "")

    def append(self, turn_id: str, text: str) -> None:
        """Add a piece to an answer."""
        with self._lock:
            stream_id, before = self._texts[turn_id]
            self._texts[turn_id] = (stream_id, before + text)
            piece = LiveText(stream_id, turn_id, len(before), text)
            for watch in self._watches:
                watch(piece)

    def end(self, turn_id: str) -> None:
        """Close an answer: the log has all of it now."""
        with self._lock:
            if turn_id not in self._texts:  # it never began
                return
            stream_id, text = self._texts.pop(turn_id)
            piece = LiveText(stream_id, turn_id, len(text), "")
            for watch in self._watches:
                watch(piece)

    def text(self, turn_id: str) -> str:
        """The text so far of an answer; empty if it does not stream now."""
        with self._lock:
            return self._texts.get(turn_id, ("", ""))[1]
