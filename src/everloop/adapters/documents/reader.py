"""Reads attached files for prompts: images as they are, documents and text files as text.

A document is parsed in a child process with limits on time, memory and size, so that a hostile one
costs a clear message and nothing else. What is in a file decides, not the name or type it was sent
with. Texts are kept in memory, up to a limit; they can always be extracted again.
"""

import subprocess
import sys
import threading
from collections import OrderedDict
from pathlib import Path

import msgspec

from everloop.adapters.files.store import FileStore
from everloop.thread.model.events import Attachment
from everloop.thread.prompt.attachments import FileText, is_picture
from everloop.thread.settings import DocumentLimits

WORKER = Path(__file__).with_name("extract_text.py")
CACHED_CHARACTERS = 20_000_000
PARALLEL = 2
DOCUMENT_STARTS = (b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
START_BYTES = 1024
FAILED = "it cannot be read"

_decode = msgspec.json.Decoder(FileText).decode


class DocumentReader:
    """The content of attached files, as a prompt needs it. Safe from any thread."""

    def __init__(self, store: FileStore, limits: DocumentLimits) -> None:
        self._store, self._limits = store, limits
        self._cached: OrderedDict[str, FileText] = OrderedDict()
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(PARALLEL)

    def read(self, one: Attachment) -> bytes | None:
        """The bytes of a file; None if it is gone."""
        return self._store.read(one)

    def text(self, one: Attachment) -> FileText:
        """The text of a file, or why it has none. For an image, neither."""
        with self._lock:
            if (known := self._cached.get(one.digest)) is not None:
                self._cached.move_to_end(one.digest)
                return known
        if is_picture(one):
            return FileText()
        content = self._store.read(one)
        if content is None:
            return FileText(problem="it is missing")
        found = self._text_of(one, content)
        self._keep(one.digest, found)
        return found

    def _text_of(self, one: Attachment, content: bytes) -> FileText:
        start = content[:START_BYTES]
        if any(mark in start for mark in DOCUMENT_STARTS):
            with self._slots:
                return self._extract(content)
        if one.media_type.startswith("text/") and b"\0" not in start:
            text = content.decode(errors="replace")
        else:
            try:
                text = content.decode("utf-8-sig")
            except UnicodeDecodeError:
                text = "\0"
        if "\0" in text:
            return FileText(problem="its format is not supported")
        most = self._limits.characters_max
        return FileText(text[:most], cut=len(text) > most)

    def _extract(self, content: bytes) -> FileText:
        limits = self._limits
        sizes = (limits.memory_bytes_max, limits.characters_max, limits.unpacked_bytes_max)
        command = [sys.executable, "-I", str(WORKER), *map(str, sizes)]
        try:
            ended = subprocess.run(  # noqa: S603 - our own program, and no shell reads it
                command,
                input=content,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=limits.seconds_max,
                env={"LANG": "C.UTF-8"},
                check=False,
            )
        except subprocess.TimeoutExpired:
            return FileText(problem=f"reading it takes longer than {limits.seconds_max:g} s")
        except OSError:
            return FileText(problem=FAILED)
        try:
            return _decode(ended.stdout)
        except msgspec.DecodeError:  # it was killed, or ran out of memory
            return FileText(problem="reading it takes too much memory" if ended.stdout else FAILED)

    def _keep(self, digest: str, found: FileText) -> None:
        with self._lock:
            self._cached[digest] = found
            while len(self._cached) > 1 and self._size() > CACHED_CHARACTERS:
                self._cached.popitem(last=False)

    def _size(self) -> int:
        return sum(len(one.text) + len(one.problem) for one in self._cached.values())
