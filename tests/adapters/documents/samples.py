"""Small documents of each kind, made by the libraries that read them, or by hand."""

import io
import zipfile
from importlib import import_module
from typing import Any

import docx
import pptx
import pypdf

WORDS = "The heron stood still."


def pdf(text: str = WORDS) -> bytes:
    """A PDF of one page, written by hand: no library in use here writes text."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", list[int]()
    for number, part in enumerate(parts, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(parts) + 1)
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(parts) + 1, start)
    return out + head + table + end


def locked_pdf() -> bytes:
    """A PDF that needs a password."""
    writer: Any = pypdf.PdfWriter(clone_from=io.BytesIO(pdf()))
    writer.encrypt("secret", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def word() -> bytes:
    """A Word document with a paragraph and a table."""
    document: Any = docx.Document()
    document.add_paragraph(WORDS)
    document.add_table(1, 2).rows[0].cells[1].text = "in the reeds"
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def sheet() -> bytes:
    """An Excel workbook with a sheet of two rows."""
    book: Any = import_module("openpyxl").Workbook()
    book.active.title = "Birds"
    book.active.append(["heron", 3])
    book.active.append([WORDS, None])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def slides() -> bytes:
    """A PowerPoint presentation with a slide and notes."""
    deck: Any = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = WORDS
    slide.notes_slide.notes_text_frame.text = "speak slowly"
    out = io.BytesIO()
    deck.save(out)
    return out.getvalue()


def open_document(content: str = f"<text:p>{WORDS}</text:p>", head: str = "") -> bytes:
    """An OpenDocument text."""
    text = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    body = f'{head}<office xmlns:text="{text}">{content}</office>'
    return archive(mimetype="application/vnd.oasis.opendocument.text", **{"content.xml": body})


def archive(**entries: str) -> bytes:
    """A zip archive with these entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in entries.items():
            zipped.writestr(name, content)
    return out.getvalue()


def bomb() -> bytes:
    """A Word document that unpacks to a hundred megabytes."""
    return archive(**{"word/document.xml": "0" * 100_000_000})
