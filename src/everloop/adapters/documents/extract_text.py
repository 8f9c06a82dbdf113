"""Extracts the text of one document, in a process of its own that nothing else depends on.

The document comes on standard input; the result goes to standard output as JSON. The parent limits
the time; this process limits its own memory, and what a document may unpack to. It imports nothing
of Everloop: the parent runs this file by its path.
"""

import io
import json
import os
import resource
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

PDF = b"%PDF-"
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
ENTRIES_MAX = 20_000  # of a zip archive
RATIO_MAX = 300  # unpacked to packed size; real documents stay below 100
RATIO_BYTES_MIN = 20_000_000  # small documents may be packed better
NOT_INSTALLED = "reading documents is not installed: pip install 'everloop[documents]'"
PROTECTED = "it is protected by a password"


class Unreadable(Exception):
    """Why a document cannot be read, as the person is told."""


def extract(data: bytes, *, characters_max: int, unpacked_max: int) -> dict[str, object]:
    """The text of a document, or the problem that it has."""
    text, cut = "", False
    try:
        for part in _parts(data, unpacked_max):
            text += part
            if len(text) > characters_max:
                text, cut = text[:characters_max], True
                break
    except Unreadable as problem:
        return {"text": "", "cut": False, "problem": str(problem)}
    except ModuleNotFoundError:
        return {"text": "", "cut": False, "problem": NOT_INSTALLED}
    except MemoryError:
        return {"text": "", "cut": False, "problem": "reading it takes too much memory"}
    except Exception:  # noqa: BLE001 - a broken document raises whatever its library does not expect
        return {"text": "", "cut": False, "problem": "it is damaged"}
    if not text.strip():
        return {"text": "", "cut": False, "problem": "it has no text, only images"}
    return {"text": text, "cut": cut, "problem": ""}


def _parts(data: bytes, unpacked_max: int) -> Iterator[str]:
    if PDF in data[:1024]:
        return _pdf(data)
    if data.startswith(OLD_OFFICE):
        raise Unreadable("it is protected by a password or in an old Office format")
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise Unreadable("its format is not supported")
    return _office(data, unpacked_max)


def _office(data: bytes, unpacked_max: int) -> Iterator[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        unpacked = sum(one.file_size for one in entries)
        bomb = unpacked > RATIO_BYTES_MIN and unpacked > RATIO_MAX * len(data)
        if len(entries) > ENTRIES_MAX or unpacked > unpacked_max or bomb:
            raise Unreadable("it unpacks to too much data")
        names = {one.filename for one in entries}
        kind = (
            archive.read("mimetype")[:100].decode(errors="replace") if "mimetype" in names else ""
        )
    readers: dict[str, Callable[[bytes], Iterator[str]]] = {
        "word/document.xml": _word,
        "xl/workbook.xml": _sheets,
        "ppt/presentation.xml": _slides,
    }
    found = next((read for name, read in readers.items() if name in names), None)
    if found is None and kind.startswith(OPEN_DOCUMENT):
        found = _open_document
    if found is None:
        raise Unreadable("its format is not supported")
    return found(data)


def _pdf(data: bytes) -> Iterator[str]:
    pypdf: Any = import_module("pypdf")
    reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable(PROTECTED)
    for number, page in enumerate(reader.pages, start=1):
        if text := (page.extract_text() or "").strip():
            yield f"[page {number}]\n{text}\n\n"


def _word(data: bytes) -> Iterator[str]:
    document: Any = import_module("docx").Document(io.BytesIO(data))
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            yield from _rows([cell.text for cell in row.cells] for row in block.rows)
        elif block.text.strip():
            yield f"{block.text}\n"


def _sheets(data: bytes) -> Iterator[str]:
    book: Any = import_module("openpyxl").load_workbook(
        io.BytesIO(data), read_only=True, data_only=True
    )
    for sheet in book.worksheets:
        yield f"[sheet {sheet.title}]\n"
        rows = sheet.iter_rows(values_only=True)
        yield from _rows(["" if one is None else str(one) for one in row] for row in rows)


def _slides(data: bytes) -> Iterator[str]:
    deck: Any = import_module("pptx").Presentation(io.BytesIO(data))
    for number, slide in enumerate(deck.slides, start=1):
        yield f"[slide {number}]\n"
        for shape in slide.shapes:
            if shape.has_text_frame and shape.text_frame.text.strip():
                yield f"{shape.text_frame.text}\n"
            if getattr(shape, "has_table", False):
                yield from _rows([cell.text for cell in row.cells] for row in shape.table.rows)
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame.text.strip()):
            yield f"Notes: {notes}\n"


def _open_document(data: bytes) -> Iterator[str]:
    parser: Any = import_module("defusedxml.ElementTree")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if "META-INF/manifest.xml" in archive.namelist():
            manifest = archive.read("META-INF/manifest.xml")
            if b"encryption-data" in manifest:
                raise Unreadable(PROTECTED)
        root = parser.fromstring(archive.read("content.xml"))
    for element in root.iter():
        paragraph = element.tag.rpartition("}")[2] in {"p", "h"}
        if paragraph and (text := "".join(element.itertext()).strip()):
            yield f"{text}\n"


def _rows(rows: Any) -> Iterator[str]:
    """Rows of a table, cells separated by tabs; empty rows are left out."""
    for row in rows:
        line = "\t".join(" ".join(cell.split()) for cell in row).rstrip()
        if line:
            yield f"{line}\n"


def main() -> None:
    """Read a document from standard input and print its text as JSON."""
    memory, characters, unpacked = (int(value) for value in sys.argv[1:4])
    with suppress(ValueError, OSError):  # some systems do not limit it
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    warnings.simplefilter("ignore")
    result = extract(sys.stdin.buffer.read(), characters_max=characters, unpacked_max=unpacked)
    sys.stdout.buffer.write(json.dumps(result).encode())
    sys.stdout.flush()
    os._exit(0)  # no library may keep the process alive


if __name__ == "__main__":
    main()
