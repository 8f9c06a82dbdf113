"""Reading attached files: documents as text, hostile ones refused with the reason."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.adapters.documents import samples

from everloop.adapters.documents.reader import DocumentReader
from everloop.adapters.files.store import FileStore
from everloop.thread.prompt.attachments import FileText
from everloop.thread.settings import DocumentLimits

LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


def read(
    folder: Path, content: bytes, limits: DocumentLimits | None = None, kind: str = "text/plain"
) -> FileText:
    store = FileStore(folder)
    kept = store.store("file", kind, [content])
    return DocumentReader(store, limits or DocumentLimits()).text(kept)


@pytest.mark.parametrize(
    ("made", "also"),
    [
        (samples.pdf, "[page 1]"),
        (samples.word, "\tin the reeds"),
        (samples.sheet, "[sheet Birds]\nheron\t3"),
        (samples.slides, "Notes: speak slowly"),
        (samples.open_document, ""),
    ],
)
@pytest.mark.promise("P-FILES-1")
def test_the_text_of_a_document_is_extracted_whatever_its_type_says(
    tmp_path: Path, made: Callable[[], bytes], also: str
) -> None:
    found = read(tmp_path, made(), kind="application/x-wrong")
    assert samples.WORDS in found.text
    assert also in found.text
    assert (found.problem, found.cut) == ("", False)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (samples.locked_pdf, "it is protected by a password"),
        (lambda: samples.pdf(""), "it has no text, only images"),
        (lambda: b"%PDF-1.7\nnonsense", "it is damaged"),
        (lambda: samples.word()[:-400], "its format is not supported"),
        (samples.bomb, "it unpacks to too much data"),
        (lambda: samples.open_document("<text:p>&b;</text:p>", LAUGHS), "it is damaged"),
        (lambda: samples.archive(readme="x"), "its format is not supported"),
        (
            lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
            "it is protected by a password or in an old Office format",
        ),
        (lambda: b"GIF\x00\xff\xfe not text", "its format is not supported"),
    ],
)
@pytest.mark.promise("P-FILES-1")
def test_a_file_that_cannot_be_read_says_why(
    tmp_path: Path, content: Callable[[], bytes], problem: str
) -> None:
    assert read(tmp_path, content()) == FileText(problem=problem)


def test_a_document_that_takes_too_long_is_refused(tmp_path: Path) -> None:
    found = read(tmp_path, samples.pdf(), DocumentLimits(seconds_max=0.001))
    assert found.problem == "reading it takes longer than 0.001 s"


def test_a_document_that_takes_too_much_memory_is_refused(tmp_path: Path) -> None:
    rows = samples.open_document("<text:p>x</text:p>" * 3_000_000)
    found = read(tmp_path, rows, DocumentLimits(memory_bytes_max=150_000_000))
    assert found.text == ""
    assert found.problem


def test_a_long_text_is_cut_and_says_so(tmp_path: Path) -> None:
    limits = DocumentLimits(characters_max=1_000)
    for content in (b"x" * 2_000, samples.open_document(f"<text:p>{'y' * 2_000}</text:p>")):
        found = read(tmp_path, content, limits)
        assert (len(found.text), found.cut) == (1_000, True)


def test_source_code_and_data_are_text_whatever_their_type(tmp_path: Path) -> None:
    code = read(tmp_path, b"print('caf\xc3\xa9')", kind="application/octet-stream")
    assert code == FileText("print('café')")
    assert read(tmp_path, b"caf\xe9", kind="text/plain").text == "caf\ufffd"


def test_an_image_has_no_text_and_no_problem_and_other_images_do(tmp_path: Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\0"
    assert read(tmp_path, picture, kind="image/png") == FileText()
    assert read(tmp_path, picture, kind="image/heic").problem == "its format is not supported"


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    kept = store.store("file", "text/plain", [b"words"])
    store.path(kept.digest).unlink()
    assert DocumentReader(store, DocumentLimits()).text(kept).problem == "it is missing"
