"""Export of threads as a zip: Markdown, JSON Lines and attachments.

The zip is streamed while it is created, so memory use stays small. It can be imported again.
"""

import zipfile
from collections.abc import Iterator, Sequence

from everloop.adapters.files.store import FileStore
from everloop.log import Log
from everloop.thread.model.events import Attachment
from everloop.thread.queries.threads import Thread
from everloop.thread.transfer.export_threads import (
    ENDINGS,
    attachment_path,
    export_file_name,
    export_thread,
)

SENT = 1 << 16  # minimum size of a chunk in bytes


def zip_threads(log: Log, threads: Sequence[Thread], store: FileStore) -> Iterator[bytes]:
    """The zip in chunks."""
    found: dict[str, Attachment] = {}

    def put(file: Attachment) -> str:
        if attachment_path(file) not in found and store.read(file) is None:
            return ""  # the file is missing or damaged
        found[attachment_path(file)] = file
        return attachment_path(file)

    sink = _Buffer()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for thread in threads:
            for form in ENDINGS:
                with archive.open(export_file_name(thread, form), "w", force_zip64=True) as page:
                    for piece in export_thread(log, thread, form, put):
                        page.write(piece)
                        yield from sink.full()
        for place, file in found.items():
            content = store.read(file)
            if content is not None:
                archive.writestr(
                    place, content, zipfile.ZIP_STORED
                )  # most files are compressed already
            yield from sink.full()
    yield sink.taken()


class _Buffer:
    """A write-only, unseekable buffer between the zip writer and the response."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, part: bytes) -> int:
        """Append to the buffer."""
        self._written += part
        return len(part)

    def flush(self) -> None:
        """No-op: nothing is buffered elsewhere."""

    def close(self) -> None:
        """No-op: there is no file to close."""

    def full(self) -> Iterator[bytes]:
        """The buffered bytes, once they are enough for a chunk."""
        if len(self._written) >= SENT:
            yield self.taken()

    def taken(self) -> bytes:
        """Take all buffered bytes."""
        taken = bytes(self._written)
        self._written.clear()
        return taken
