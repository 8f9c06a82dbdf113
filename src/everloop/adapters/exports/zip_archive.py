"""Conversations as one zip: pages for people, lines for programs, and the files beside messages.

It is made while it is sent, so however much there is, little of it is in memory at a time. It can
be imported again.
"""

import zipfile
from collections.abc import Iterator, Sequence

from everloop.adapters.files.store import FileStore
from everloop.log import Log
from everloop.thread.model.events import Attachment
from everloop.thread.queries.threads import Thread
from everloop.thread.transfer.export_threads import ENDINGS, name_of, pieces_of, place_of

SENT = 1 << 16  # bytes that are sent at once, at least


def as_zip(log: Log, threads: Sequence[Thread], store: FileStore) -> Iterator[bytes]:
    """The zip, a piece at a time."""
    found: dict[str, Attachment] = {}

    def put(file: Attachment) -> str:
        if place_of(file) not in found and store.read(file) is None:
            return ""  # it is gone, or damaged
        found[place_of(file)] = file
        return place_of(file)

    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for thread in threads:
            for form in ENDINGS:
                with archive.open(name_of(thread, form), "w", force_zip64=True) as page:
                    for piece in pieces_of(log, thread, form, put):
                        page.write(piece)
                        yield from sink.full()
        for place, file in found.items():
            content = store.read(file)
            if content is not None:
                archive.writestr(place, content, zipfile.ZIP_STORED)  # most are packed already
            yield from sink.full()
    yield sink.taken()


class _Sink:
    """What a zip is written to, and taken from as it is sent. It cannot go back."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, part: bytes) -> int:
        """Take something in."""
        self._written += part
        return len(part)

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""

    def full(self) -> Iterator[bytes]:
        """What is there, once it is worth sending."""
        if len(self._written) >= SENT:
            yield self.taken()

    def taken(self) -> bytes:
        """What is there. It is then no longer."""
        taken = bytes(self._written)
        self._written.clear()
        return taken
