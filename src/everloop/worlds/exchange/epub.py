"""Writes a book as EPUB 3: a zip file of XHTML pages with a table of contents."""

import re
import uuid
import zipfile
from collections.abc import Iterator
from datetime import UTC
from html import escape
from io import BytesIO
from typing import Final

from everloop.worlds.exchange.book_export import Book, Chapter, Said

MEDIA_TYPE: Final = "application/epub+zip"
_ACTION: Final = re.compile(r"\*([^*\n]+)\*")
_CONTROL: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTAINER: Final = """\
<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
  <rootfiles>
    <rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/>
  </rootfiles>
</container>
"""
_STYLE: Final = """\
body { font-family: serif; line-height: 1.5; }
h1 { page-break-before: always; }
p.when { font-style: italic; }
p.premise { margin: 1em 2em; }
span.who { font-weight: bold; }
"""
_PAGE: Final = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">
<head><title>{title}</title><link rel="stylesheet" type="text/css" href="style.css"/></head>
<body>
{body}
</body>
</html>
"""
_PACKAGE: Final = """\
<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
  <metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
    <dc:identifier id="id">urn:uuid:{identifier}</dc:identifier>
    <dc:title>{title}</dc:title>
    <dc:language>und</dc:language>
    <dc:creator>Everloop</dc:creator>
    <meta property="dcterms:modified">{modified}</meta>
  </metadata>
  <manifest>
    <item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
    <item id="style" href="style.css" media-type="text/css"/>
{items}
  </manifest>
  <spine>
    <itemref idref="nav"/>
{spine}
  </spine>
</package>
"""


def write_epub(book: Book) -> bytes:
    """The book as EPUB. The same book gives the same bytes."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        # The media type comes first and unpacked: readers look for it there.
        archive.writestr(zipfile.ZipInfo("mimetype"), MEDIA_TYPE)
        for name, text in _files(book):
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _files(book: Book) -> Iterator[tuple[str, str]]:
    yield "META-INF/container.xml", _CONTAINER
    yield "EPUB/package.opf", _package(book)
    yield "EPUB/nav.xhtml", _page(book.title, _contents(book))
    yield "EPUB/style.css", _STYLE
    for number, chapter in enumerate(book.chapters, start=1):
        yield f"EPUB/{_name(number)}", _page(chapter.heading, "\n".join(_chapter(chapter)))


def _package(book: Book) -> str:
    numbers = range(1, len(book.chapters) + 1)
    kind = "application/xhtml+xml"
    items = [f'    <item id="c{one}" href="{_name(one)}" media-type="{kind}"/>' for one in numbers]
    return _PACKAGE.format(
        identifier=uuid.uuid5(uuid.NAMESPACE_URL, book.book_id),
        title=_xml(book.title),
        modified=f"{book.modified.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        items="\n".join(items),
        spine="\n".join(f'    <itemref idref="c{one}"/>' for one in numbers),
    )


def _contents(book: Book) -> str:
    links = "\n".join(
        f'<li><a href="{_name(number)}">{_xml(chapter.heading)}</a></li>'
        for number, chapter in enumerate(book.chapters, start=1)
    )
    cast = ", ".join(_xml(name) for name in book.cast)
    listed = links or f"<li><span>{_xml(book.title)}</span></li>"
    return (
        f"<h1>{_xml(book.title)}</h1>\n<p>{cast}</p>\n"
        f'<nav epub:type="toc" id="toc"><ol>\n{listed}\n</ol></nav>'
    )


def _chapter(chapter: Chapter) -> Iterator[str]:
    yield f"<h1>{_xml(chapter.heading)}</h1>"
    if chapter.subtitle:
        yield f'<p class="when">{_xml(chapter.subtitle)}</p>'
    if chapter.premise:
        yield f'<p class="premise">{_xml(chapter.premise)}</p>'
    for one in chapter.said:
        yield from _paragraphs(one)


def _paragraphs(said: Said) -> Iterator[str]:
    who = f'<span class="who">{_xml(said.speaker)}:</span> ' if said.speaker else ""
    for number, part in enumerate(filter(str.strip, said.text.split("\n"))):
        text = _ACTION.sub(r"<em>\1</em>", _xml(part))
        yield f"<p>{who if number == 0 else ''}{text}</p>"


def _page(title: str, body: str) -> str:
    return _PAGE.format(title=_xml(title), body=body)


def _name(number: int) -> str:
    return f"chapter-{number:04d}.xhtml"


def _xml(text: str) -> str:
    return escape(_CONTROL.sub("", text))
