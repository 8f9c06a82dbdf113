"""Answers as they come, for whoever watches: words in memory, until the log has the whole answer.

A watcher gets the facts from the log and the words from here. Words carry their offset in the
answer, so that one who joins late takes the text so far and loses and doubles nothing.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec


class Words(msgspec.Struct, frozen=True):
    """Some words of an answer, and where in it they begin. The empty text says that it ended."""

    thread_id: str
    turn_id: str
    offset: int
    text: str


Watch = Callable[[Words], None]


class Live:
    """The answers that come just now. Safe from any thread; a watcher must not block."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, str]] = {}
        self._watches: list[Watch] = []
        self._lock = threading.Lock()

    def watch(self, watch: Watch) -> Callable[[], None]:
        """Tell of each word from now on; what is returned ends it."""
        with self._lock:
            self._watches.append(watch)

        def leave() -> None:
            with self._lock, suppress(ValueError):
                self._watches.remove(watch)

        return leave

    def so_far(self) -> list[Words]:
        """What has come of each answer that comes just now."""
        with self._lock:
            return [
                Words(thread_id, turn_id, 0, text)
                for turn_id, (thread_id, text) in self._texts.items()
            ]

    def begin(self, thread_id: str, turn_id: str) -> None:
        """An answer begins."""
        with self._lock:
            self._texts[turn_id] = (thread_id, "")

    def say(self, turn_id: str, text: str) -> None:
        """More of it came."""
        with self._lock:
            thread_id, before = self._texts[turn_id]
            self._texts[turn_id] = (thread_id, before + text)
            words = Words(thread_id, turn_id, len(before), text)
            for watch in self._watches:
                watch(words)

    def end(self, turn_id: str) -> None:
        """It is in the log now."""
        with self._lock:
            if turn_id not in self._texts:  # it never began
                return
            thread_id, text = self._texts.pop(turn_id)
            words = Words(thread_id, turn_id, len(text), "")
            for watch in self._watches:
                watch(words)

    def text(self, turn_id: str) -> str:
        """What has come of an answer; empty if it does not come just now."""
        with self._lock:
            return self._texts.get(turn_id, ("", ""))[1]
