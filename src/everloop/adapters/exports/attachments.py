"""A file of an export becomes a file beside a message: its content decides what it is called."""

import mimetypes
import re
from collections.abc import Iterator
from typing import IO, Final

from everloop.adapters.exports.files import Part
from everloop.adapters.files.store import FileStore
from everloop.thread.model.events import Attachment
from everloop.thread.transfer.parsed_export import Beside

CHUNK: Final = 1 << 20
UNKNOWN: Final = "application/octet-stream"
_TYPE: Final = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}")
_SIGNS: Final = (  # services give pictures away under names that do not say what they are
    (re.compile(rb"\x89PNG\r\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"%PDF-"), "application/pdf"),
)


def kept(store: FileStore, wanted: Beside, part: Part) -> Attachment:
    """The file, taken in from its export.

    Raises:
        Invalid: it is too large, or empty.
    """
    with part.open() as file:
        first = file.read(CHUNK)
        kind = _kind(wanted, part.name, first)
        return store.keep(wanted.name or part.name, kind, _pieces(first, file))


def kept_text(store: FileStore, wanted: Beside) -> Attachment:
    """The words of a file, where an export has nothing else of it.

    Raises:
        Invalid: they are too many.
    """
    return store.keep(wanted.name, "text/plain", (wanted.text.encode(errors="replace"),))


def _pieces(first: bytes, file: IO[bytes]) -> Iterator[bytes]:
    yield first
    while more := file.read(CHUNK):
        yield more


def _kind(wanted: Beside, name: str, first: bytes) -> str:
    """What it is: by its first bytes, else as the export says, else by its name."""
    by_sign = next((kind for sign, kind in _SIGNS if sign.match(first)), "")
    said = wanted.media_type if _TYPE.fullmatch(wanted.media_type) else ""
    by_name = mimetypes.guess_type(wanted.name)[0] or mimetypes.guess_type(name)[0]
    return by_sign or said or by_name or UNKNOWN
