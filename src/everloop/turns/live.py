"""Live text of answers that stream now, and of the reasoning before them, for all who watch.

A watcher gets the facts from the log and the text from here. Every piece carries its offset in the
answer, so a watcher who joins late takes the text so far and loses or repeats nothing.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec


class LiveText(msgspec.Struct, frozen=True):
    """A piece of an answer and its offset in it. An empty piece means that the answer ended.

    With `thought`, it is a piece of the reasoning, which has offsets of its own.
    """

    stream_id: str
    turn_id: str
    offset: int
    text: str
    thought: bool = False


Watch = Callable[[LiveText], None]


class LiveAnswers:
    """The answers that stream now. Safe from any thread; a watcher must not block."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, str]] = {}
        self._thoughts: dict[str, str] = {}
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
            texts = [
                LiveText(stream_id, turn_id, 0, text)
                for turn_id, (stream_id, text) in self._texts.items()
            ]
            thoughts = [
                LiveText(self._texts[turn_id][0], turn_id, 0, thought, thought=True)
                for turn_id, thought in self._thoughts.items()
            ]
        return [*thoughts, *texts]

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

    def think(self, turn_id: str, text: str) -> None:
        """Add a piece to the reasoning before an answer."""
        with self._lock:
            stream_id, before = self._texts[turn_id][0], self._thoughts.get(turn_id, "")
            self._thoughts[turn_id] = before + text
            piece = LiveText(stream_id, turn_id, len(before), text, thought=True)
            for watch in self._watches:
                watch(piece)

    def end(self, turn_id: str) -> None:
        """Close an answer: the log has all of it now."""
        with self._lock:
            if turn_id not in self._texts:  # it never began
                return
            stream_id, text = self._texts.pop(turn_id)
            self._thoughts.pop(turn_id, None)
            piece = LiveText(stream_id, turn_id, len(text), "")
            for watch in self._watches:
                watch(piece)

    def text(self, turn_id: str) -> str:
        """The text so far of an answer; empty if it does not stream now."""
        with self._lock:
            return self._texts.get(turn_id, ("", ""))[1]
