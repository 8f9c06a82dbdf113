"""Relays streaming answers to other processes that have the same log open, through files.

The process that runs the turns appends the text of each answer to a file, and removes it at the
end, when the log has the whole answer. The others poll these files several times a second and
publish the text to their own watchers. Best effort: without the files, the text appears later, when
the log has it.
"""

import codecs
import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from everloop.turns.live import LiveAnswers, LiveText

STEP_S = 0.05
IDLE_S = 1.0  # poll interval while this process runs the turns itself
HEAD_MAX = 4_096


class _Head(msgspec.Struct):
    """The first line of a file: which answer it contains."""

    thread_id: str
    turn_id: str


class _OpenFile:
    """A file of another process that is being read."""

    def __init__(self, head: _Head, file: int) -> None:
        self.head, self.file = head, file
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")


class LiveAnswerRelay:
    """Relays answer text between processes: writes while this one runs turns, else reads."""

    def __init__(self, folder: Path, live: LiveAnswers, conducts: threading.Event) -> None:
        self._folder, self._live, self._conducts = folder, live, conducts
        self._written: dict[str, int] = {}  # turn id to file descriptor
        self._reading: dict[str, _OpenFile] = {}  # by file name
        self._unwatch: Callable[[], object] = bool
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="everloop-overhear", daemon=True)

    def start(self) -> None:
        """Start relaying."""
        self._unwatch = self._live.watch(self._write)
        self._thread.start()

    def stop(self) -> None:
        """Stop relaying and close all files."""
        self._stop.set()
        self._unwatch()
        if self._thread.is_alive():
            self._thread.join()

    def clear(self) -> None:
        """Remove the files of a process that crashed while it ran turns."""
        for name in self._file_names():
            (self._folder / name).unlink(missing_ok=True)

    # -- writing -----------------------------------------------------------------------------------

    def _write(self, words: LiveText) -> None:
        """Append text to the file of its answer. A failing disk does not affect local watchers."""
        if words.thought or (not self._conducts.is_set() and words.turn_id not in self._written):
            return  # reasoning is shown where the answer is generated, and later from the log
        with suppress(OSError):
            if not words.text:
                self._end_writing(words.turn_id)
                return
            if words.turn_id not in self._written:
                self._begin_writing(words)
            os.write(self._written[words.turn_id], words.text.encode())

    def _begin_writing(self, words: LiveText) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / _file_name(words.turn_id)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        self._written[words.turn_id] = file
        os.write(file, msgspec.json.encode(_Head(words.stream_id, words.turn_id)) + b"\n")

    def _end_writing(self, turn_id: str) -> None:
        file = self._written.pop(turn_id, None)
        if file is not None:
            os.close(file)
            (self._folder / _file_name(turn_id)).unlink(missing_ok=True)

    # -- reading -----------------------------------------------------------------------------------

    def _poll(self) -> None:
        pause = STEP_S
        while not self._stop.wait(pause):
            conducts = self._conducts.is_set()
            pause = IDLE_S if conducts else STEP_S
            with suppress(OSError):
                self._read_files(set() if conducts else self._file_names())
        with suppress(OSError):
            self._read_files(set())

    def _read_files(self, names: set[str]) -> None:
        """Publish new text of the files, and the end of answers whose file is gone."""
        for name in names - self._reading.keys():
            self._begin_reading(name)
        for name, heard in list(self._reading.items()):
            while new := os.read(heard.file, 1 << 16):
                if text := heard.decoder.decode(new):
                    self._live.append(heard.head.turn_id, text)
            if name not in names:
                os.close(heard.file)
                del self._reading[name]
                self._live.end(heard.head.turn_id)

    def _begin_reading(self, name: str) -> None:
        with suppress(FileNotFoundError):  # the answer has ended since
            file = os.open(self._folder / name, os.O_RDONLY)
            first, _, _ = os.pread(file, HEAD_MAX, 0).partition(b"\n")
            try:
                head = msgspec.json.decode(first, type=_Head)
            except msgspec.MsgspecError:  # it was created just now, or is not ours
                os.close(file)
                return
            os.lseek(file, len(first) + 1, os.SEEK_SET)
            self._reading[name] = _OpenFile(head, file)
            self._live.begin(head.thread_id, head.turn_id)

    def _file_names(self) -> set[str]:
        try:
            return set(os.listdir(self._folder))
        except FileNotFoundError:
            return set()


def _file_name(turn_id: str) -> str:
    return hashlib.sha256(turn_id.encode()).hexdigest()[:32]
