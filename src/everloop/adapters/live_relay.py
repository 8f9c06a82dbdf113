"""The words of an answer, for the other processes that have the same log open.

The process that conducts writes the words of each answer into a file of its own, as they come, and
removes it at the end, when the log has them all. The others read on, a few times a second, and tell
whoever watches there. Nothing depends on these files: without them, the log has the words later.
"""

import codecs
import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from everloop.thread.turns.live import Live, Words

STEP_S = 0.05
IDLE_S = 1.0  # while it is this process that conducts
HEAD_MAX = 4_096


class _Head(msgspec.Struct):
    """Which answer a file holds: its first line."""

    thread_id: str
    turn_id: str


class _Heard:
    """A file that is being read."""

    def __init__(self, head: _Head, file: int) -> None:
        self.head, self.file = head, file
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")


class Overhearing:
    """Words on their way between processes: out while this one conducts, else in."""

    def __init__(self, folder: Path, live: Live, conducts: threading.Event) -> None:
        self._folder, self._live, self._conducts = folder, live, conducts
        self._told: dict[str, int] = {}  # turn to the file that is written
        self._heard: dict[str, _Heard] = {}  # name of a file that is read
        self._leave: Callable[[], object] = bool
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="everloop-overhear", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._leave = self._live.watch(self._tell)
        self._thread.start()

    def stop(self) -> None:
        """End, and leave nothing behind."""
        self._stop.set()
        self._leave()
        if self._thread.is_alive():
            self._thread.join()

    def clear(self) -> None:
        """Remove what a process left behind that died while it conducted."""
        for name in self._names():
            (self._folder / name).unlink(missing_ok=True)

    # -- out ---------------------------------------------------------------------------------------

    def _tell(self, words: Words) -> None:
        """Write words down. A disk that takes none takes nothing from those who watch here."""
        if not self._conducts.is_set() and words.turn_id not in self._told:
            return
        with suppress(OSError):
            if not words.text:
                self._end_telling(words.turn_id)
                return
            if words.turn_id not in self._told:
                self._begin_telling(words)
            os.write(self._told[words.turn_id], words.text.encode())

    def _begin_telling(self, words: Words) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / _name(words.turn_id)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        self._told[words.turn_id] = file
        os.write(file, msgspec.json.encode(_Head(words.thread_id, words.turn_id)) + b"\n")

    def _end_telling(self, turn_id: str) -> None:
        file = self._told.pop(turn_id, None)
        if file is not None:
            os.close(file)
            (self._folder / _name(turn_id)).unlink(missing_ok=True)

    # -- in ----------------------------------------------------------------------------------------

    def _serve(self) -> None:
        pause = STEP_S
        while not self._stop.wait(pause):
            conducts = self._conducts.is_set()
            pause = IDLE_S if conducts else STEP_S
            with suppress(OSError):
                self._listen(set() if conducts else self._names())
        with suppress(OSError):
            self._listen(set())

    def _listen(self, names: set[str]) -> None:
        """Tell what is new in the files there are, and the end of those that are gone."""
        for name in names - self._heard.keys():
            self._begin_hearing(name)
        for name, heard in list(self._heard.items()):
            while new := os.read(heard.file, 1 << 16):
                if text := heard.decoder.decode(new):
                    self._live.say(heard.head.turn_id, text)
            if name not in names:
                os.close(heard.file)
                del self._heard[name]
                self._live.end(heard.head.turn_id)

    def _begin_hearing(self, name: str) -> None:
        with suppress(FileNotFoundError):  # it has ended since
            file = os.open(self._folder / name, os.O_RDONLY)
            first, _, _ = os.pread(file, HEAD_MAX, 0).partition(b"\n")
            try:
                head = msgspec.json.decode(first, type=_Head)
            except msgspec.MsgspecError:  # it has just been made, or is none of ours
                os.close(file)
                return
            os.lseek(file, len(first) + 1, os.SEEK_SET)
            self._heard[name] = _Heard(head, file)
            self._live.begin(head.thread_id, head.turn_id)

    def _names(self) -> set[str]:
        try:
            return set(os.listdir(self._folder))
        except FileNotFoundError:
            return set()


def _name(turn_id: str) -> str:
    return hashlib.sha256(turn_id.encode()).hexdigest()[:32]
