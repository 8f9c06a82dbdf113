"""Stores files of an export as attachments, with a media type detected from their content."""

import mimetypes
import re
from collections.abc import Iterator
from typing import IO, Final

from everloop.adapters.exports.files import ExportPart
from everloop.adapters.files.store import FileStore
from everloop.thread.model.events import Attachment
from everloop.thread.transfer.parsed_export import ParsedFile

CHUNK: Final = 1 << 20
UNKNOWN: Final = "application/octet-stream"
_TYPE: Final = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}")
_SIGNATURES: Final = (  # file signatures: services export images under names without an extension
    (re.compile(rb"\x89PNG\r\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"%PDF-"), "application/pdf"),
)


def store_file(store: FileStore, wanted: ParsedFile, part: ExportPart) -> Attachment:
    """Store a file of an export.

    Raises:
        Invalid: it is too large, or empty.
    """
    with part.open() as file:
        first = file.read(CHUNK)
        kind = _media_type(wanted, part.name, first)
        return store.store(wanted.name or part.name, kind, _rest_of(first, file))


def store_text(store: FileStore, wanted: ParsedFile) -> Attachment:
    """Store the extracted text of a file, if an export has nothing else of it.

    Raises:
        Invalid: the text is too large.
    """
    return store.store(wanted.name, "text/plain", (wanted.text.encode(errors="replace"),))


def _rest_of(first: bytes, file: IO[bytes]) -> Iterator[bytes]:
    yield first
    while more := file.read(CHUNK):
        yield more


def _media_type(wanted: ParsedFile, name: str, first: bytes) -> str:
    """The media type: by file signature, else as the export says, else by file name."""
    by_sign = next((kind for sign, kind in _SIGNATURES if sign.match(first)), "")
    said = wanted.media_type if _TYPE.fullmatch(wanted.media_type) else ""
    by_name = mimetypes.guess_type(wanted.name)[0] or mimetypes.guess_type(name)[0]
    return by_sign or said or by_name or UNKNOWN
