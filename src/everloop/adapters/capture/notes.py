"""Parses rules in Markdown notes: `CLAUDE.md`, memory folders, `learnings.md`.

Each list item is an entry, with the headings above it. In `learnings.md`, a section without a list
is an entry too. A page of a memory folder is one entry, if it is guidance. Code, tables and
comments are skipped.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

import msgspec

from everloop.adapters.files.front_matter import FrontMatter, split_front_matter
from everloop.errors import Invalid
from everloop.lessons.capture.entries import CaptureEntry, truncate_first_line

WORDS_MIN: Final = 4
INDEX: Final = "MEMORY.md"
GUIDANCE: Final = ("", "feedback", "lesson", "rule")  # types of memory pages that contain rules

_CODE = re.compile(
    r"^[ \t]*(?P<fence>```+|~~~+)[^\n]*\n.*?(?:^[ \t]*(?P=fence)[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"(?P<level>#{1,6})[ \t]+(?P<title>.+?)[ \t]*#*")
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+(?P<text>.+)")
_LINKS = re.compile(r"\[[^\]]*\]\([^)]*\)|<?https?://\S+|@\S+")


class _Block(msgspec.Struct):
    """A list item or a paragraph, with the headings above it."""

    headings: tuple[str, ...]
    text: str
    is_item: bool


def list_item_entries(page: str, *, scope: str) -> list[CaptureEntry]:
    """The list items of a page, as entries."""
    return _rule_entries(_blocks(page), scope)


def learnings_entries(page: str, *, scope: str) -> list[CaptureEntry]:
    """The list items of a page, and its sections without a list, as entries."""
    blocks = list(_blocks(page))
    with_items = {block.headings for block in blocks if block.is_item}
    found = _rule_entries(blocks, scope)
    sections: dict[tuple[str, ...], list[str]] = {}
    for block in blocks:
        if block.headings and block.headings not in with_items:
            sections.setdefault(block.headings, []).append(block.text)
    for headings, texts in sections.items():
        title = headings[-1]
        found.append(CaptureEntry(title, truncate_first_line(title), "\n\n".join(texts), scope))
    return found


def guidance_entries(page: str, *, name: str, scope: str) -> list[CaptureEntry]:
    """A page of a memory folder as an entry, if it is guidance rather than description.

    Raises:
        Invalid: its front matter is not valid.
    """
    head, body = split_front_matter(page)
    fields = FrontMatter(head).fields()
    if not head or name == INDEX:
        return [] if name == INDEX else list_item_entries(page, scope=scope)
    text = body.strip()
    if _kind(fields) not in GUIDANCE or not text:
        return []
    title = str(fields.get("description") or fields.get("name") or text)
    return [CaptureEntry(str(fields.get("name") or name), truncate_first_line(title), text, scope)]


def decode_page(content: bytes) -> str:
    """Decode a page as UTF-8, with `\\n` as line ends.

    Raises:
        Invalid: it is not UTF-8.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise Invalid(f"line {line}: not UTF-8", hint="Save it as UTF-8.") from problem
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _kind(fields: dict[str, Any]) -> str:
    """The type of a memory page, which newer hosts put under `metadata`."""
    below = fields.get("metadata")
    inner = cast("dict[str, Any]", below) if isinstance(below, dict) else {}
    return str(fields.get("type") or inner.get("type") or "").lower()


def _blocks(page: str) -> Iterator[_Block]:
    """The list items and paragraphs of a page, in order."""
    _, body = split_front_matter(page)
    plain = _COMMENT.sub("", _CODE.sub("", body))
    headings: list[tuple[int, str]] = []
    block: _Block | None = None
    for line in plain.split("\n"):
        heading = _HEADING.fullmatch(line)
        item = _ITEM.fullmatch(line)
        begins = heading or (item and not _is_nested(item, block)) or not line.strip()
        if begins and block is not None:
            yield block
            block = None
        if heading:
            level = len(heading["level"])
            headings = [*(each for each in headings if each[0] < level), (level, heading["title"])]
        elif line.strip() and not line.lstrip().startswith(("|", ">")):
            block = _extend(block, line, item, tuple(title for _, title in headings))
    if block is not None:
        yield block


def _is_nested(item: re.Match[str], block: _Block | None) -> bool:
    return block is not None and block.is_item and len(item["indent"].expandtabs(4)) >= 2


def _extend(
    block: _Block | None, line: str, item: re.Match[str] | None, headings: tuple[str, ...]
) -> _Block:
    if block is None:
        return _Block(headings, item["text"].strip() if item else line.strip(), item is not None)
    block.text += f"\n{line.strip()}"
    return block


def _rule_entries(blocks: Iterable[_Block], scope: str) -> list[CaptureEntry]:
    """The list items that are rules, as entries."""
    return [_entry(block, scope) for block in blocks if block.is_item and _is_rule(block.text)]


def _is_rule(text: str) -> bool:
    """Whether an item has enough words besides links and mentions."""
    return len(_LINKS.sub("", text).split()) >= WORDS_MIN


def _entry(block: _Block, scope: str) -> CaptureEntry:
    above = " › ".join(block.headings)  # noqa: RUF001 - a separator between headings
    body = f"{above}\n\n{block.text}" if above else block.text
    return CaptureEntry("", truncate_first_line(block.text.replace("**", "")), body, scope)
