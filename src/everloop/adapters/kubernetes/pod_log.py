"""Follows the log of a pod into a file, byte by byte: no gap, no repeat.

A container's log is one stream of bytes, so a position in it means the same to every node. After a
broken connection the stream is read again from its beginning, and what is in the file is skipped.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

RETRY_S = 0.2
PIECE = 8_192
GONE = 404
CUT = b"\n[the rest of the output was not kept]\n"


class PodLog:
    """The log of one pod in a file."""

    def __init__(
        self, path: Path, open_log: Callable[[], Any], is_over: Callable[[], bool], bytes_max: int
    ) -> None:
        self._path, self._open, self._is_over, self._bytes_max = path, open_log, is_over, bytes_max
        self.complete = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="everloop-pod-log", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._thread.start()

    def stop(self) -> None:
        """Follow no more."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            over = self._is_over()  # before reading: then all that was written is read
            try:
                self._copy()
                if over:
                    self.complete.set()
                    return
            except ApiException as problem:
                if problem.status == GONE and over:  # its log went with the pod
                    self.complete.set()
                    return
            except (HTTPError, OSError):
                pass
            self._stopping.wait(RETRY_S)

    def _copy(self) -> None:
        skip = self._path.stat().st_size if self._path.exists() else 0
        response = self._open()
        try:
            with self._path.open("ab") as file:
                for piece in response.stream(PIECE):
                    if self._stopping.is_set():
                        return
                    new, skip = piece[skip:], max(0, skip - len(piece))
                    self._write(file, new)
        finally:
            response.release_conn()

    def _write(self, file: Any, new: bytes) -> None:
        room = self._bytes_max - file.tell()
        if room <= 0:
            return
        file.write(new[:room])
        if len(new) >= room:
            file.write(CUT)
        file.flush()
