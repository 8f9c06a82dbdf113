"""Markdown pages with front matter: renders an item as a page, and parses it again. Pure, no files.

A page is for people to read and edit. It contains a digest of the exported content, which tells an
edited page from an outdated one. The front matter is a safe subset of YAML that needs no library:
`name: value`, with text in double quotes where YAML would interpret it, and lists in brackets or on
lines of their own. Any YAML parser understands our output; we parse only this subset, so that `no`
stays a word and never becomes `False`.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from everloop.errors import Invalid
from everloop.memory.markdown.front_matter import FENCE, field_lines, split_page
from everloop.memory.model.scopes import check_scope
from everloop.memory.projections.queries import Item

DURABLE: Final = "durable"
REVISABLE_FIELDS: Final = ("title", "text", "scope", "witnesses")  # fields that a revision changes
MARK_FIELDS: Final = ("significance", "pinned")
FIXED_FIELDS: Final = (
    "kind",
    "happened_at",
    "durability",
    "learned_via",
    "derived_from",
    "host",
    "session",
    "model",
    "folder",
)
FIELD_NAMES: Final = (
    "id",
    "title",
    "kind",
    "scope",
    "witnesses",
    *MARK_FIELDS,
    *FIXED_FIELDS[1:],
    "exported",
)
LIST_FIELDS: Final = ("witnesses", "derived_from")
DIGEST_LENGTH: Final = 24

_LINE = re.compile(r"(?P<name>[A-Za-z_]+):(?:[ \t]+(?P<value>.*))?")
_ENTRY = re.compile(r"[ \t]*-[ \t]+(?P<value>.*)")
_LISTED = re.compile(r"""[ \t]*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,\[\]"']*)[ \t]*(?:,|$)""")
_PLAIN = re.compile(r"[^\W\d_](?:[\w.,;()'+/@…-]|:(?=\w)| (?=[\w('+/@…]))*")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00")
_RESERVED: Final = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
_ID_LINE = re.compile(r"(?im)^[ \t\"']*id[\"']?[ \t]*[:=][ \t]*[\"']?(?P<id>[^\s\"'#]+)")


class PageContent(msgspec.Struct, frozen=True):
    """The content of a page. None: the page omits the field, which stays as it is."""

    text: str
    id: str = ""
    title: str | None = None
    kind: str | None = None
    scope: str | None = None
    witnesses: tuple[str, ...] | None = None
    significance: int | None = None
    pinned: bool | None = None
    happened_at: str | None = None
    durability: str | None = None
    learned_via: str | None = None
    derived_from: tuple[str, ...] | None = None
    host: str | None = None
    session: str | None = None
    model: str | None = None
    folder: str | None = None
    exported: str = ""


_BLANK: Final = PageContent(  # a page omits only empty fields, so this fills them in again
    text="",
    title="",
    kind="",
    scope="",
    witnesses=(),
    significance=0,
    pinned=False,
    happened_at="",
    durability="",
    learned_via="",
    derived_from=(),
    host="",
    session="",
    model="",
    folder="",
)


def page_content(item: Item) -> PageContent:
    """The full content of an item's page."""
    return PageContent(
        text=item.text,
        id=item.item_id,
        title=item.title,
        kind=item.kind,
        scope=item.scope,
        witnesses=tuple(sorted(item.witnesses)),
        significance=item.significance,
        pinned=item.pinned,
        happened_at=_render_time(item.happened_at),
        durability=_render_time(item.holds_until) if item.holds_until else DURABLE,
        learned_via=item.learned_via,
        derived_from=item.derived_from,
        host=item.origin.host,
        session=item.origin.session,
        model=item.origin.model,
        folder=item.origin.folder,
    )


def page_digest(sheet: PageContent) -> str:
    """A digest of a page's content, ignoring line endings and empty lines around the text."""
    plain = msgspec.structs.asdict(
        msgspec.structs.replace(sheet, exported="", text=normalised_text(sheet))
    )
    content = json.dumps(plain, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]


def fill_missing_fields(sheet: PageContent, base: PageContent) -> PageContent:
    """Fill in the omitted fields of a page from `base`."""
    given = {
        name: value
        for name, value in msgspec.structs.asdict(sheet).items()
        if value is not None and name != "exported"
    }
    return msgspec.structs.replace(base, **given)


def differing_fields(one: PageContent, other: PageContent) -> list[str]:
    """The names of the fields in which two complete pages differ, in page order."""
    found = [name for name in FIELD_NAMES[1:-1] if getattr(one, name) != getattr(other, name)]
    return found if normalised_text(one) == normalised_text(other) else ["text", *found]


def normalised_text(sheet: PageContent) -> str:
    """The text normalised for comparison: line endings unified, no empty lines around it."""
    return sheet.text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")


def is_unedited(sheet: PageContent) -> bool:
    """Whether a page is unedited since its export, judging by its own digest alone."""
    return (
        bool(sheet.exported) and page_digest(fill_missing_fields(sheet, _BLANK)) == sheet.exported
    )


def render_page(sheet: PageContent) -> str:
    """Render the page. Parsing it returns the same content with its digest."""
    lines = [FENCE]
    for name in FIELD_NAMES:
        value = page_digest(sheet) if name == "exported" else getattr(sheet, name)
        if value is not None and not (value == "" and name not in REVISABLE_FIELDS):
            lines.append(f"{name}: {_render_value(value)}")
    return "\n".join([*lines, FENCE, "", sheet.text, ""])


def guess_id(page: str) -> str:
    """Guess the id of a page even if its front matter is malformed; empty if there is none."""
    found = _ID_LINE.search(page)
    return found["id"] if found else ""


def parse_page(page: str) -> PageContent:
    """Parse a page.

    Raises:
        Invalid: its front matter is malformed; the message names the line.
    """
    page = page.removeprefix("\ufeff")
    if page.startswith(f"{FENCE}\r\n"):
        page = page.replace("\r\n", "\n")
    front_matter, body = split_page(page)
    if not front_matter:
        return PageContent(text=page.removesuffix("\n"))
    fields = _parse_fields(field_lines(front_matter).split("\n"))
    return _convert_fields(body.removeprefix("\n").removesuffix("\n"), fields)


# -- parsing ---------------------------------------------------------------------------------------

RawField = tuple[int, str | list[str]]  # line number and value


def _parse_fields(lines: Sequence[str]) -> dict[str, RawField]:
    """The fields of the front matter, each with its line number."""
    fields: dict[str, RawField] = {}
    name = ""
    for number, line in enumerate(lines, start=2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if entry := _ENTRY.fullmatch(line):
            _add_entry(fields, name, number, entry["value"])
            continue
        found = _LINE.fullmatch(line.rstrip())
        if not found:
            raise _error(number, f"{line.strip()!r} is not a field", "Write `name: value`.")
        name = found["name"]
        if name not in FIELD_NAMES:
            raise _error(
                number, f"there is no field {name!r}", f"Use one of: {', '.join(FIELD_NAMES)}."
            )
        if name in fields:
            raise _error(number, f"{name!r} is there twice", "Keep one of them.")
        value = (found["value"] or "").strip()
        if name in LIST_FIELDS:
            fields[name] = (number, _parse_list(value, number))
        else:
            fields[name] = (number, _parse_text(value, number))
    return fields


def _add_entry(fields: dict[str, RawField], name: str, number: int, value: str) -> None:
    values = fields[name][1] if name in fields else None
    if not isinstance(values, list):
        raise _error(
            number,
            "this list entry does not follow a list field",
            f"Fields with lists: {', '.join(LIST_FIELDS)}.",
        )
    values.append(_parse_text(value.strip(), number))


def _parse_list(value: str, number: int) -> list[str]:
    """The entries of a list in brackets; a single value is a list of one."""
    if not value:
        return []
    if not value.startswith("["):
        return [_parse_text(value, number)]
    if not value.endswith("]"):
        raise _error(number, "the list has no end", "Close it with a bracket: [ada, ben]")
    inner, at = value[1:-1].strip(), 0
    entries: list[str] = []
    while at < len(inner):
        found = _LISTED.match(inner, at)
        if not found or not found[1].strip():
            raise _error(number, "the list cannot be read", "Write it as [ada, ben].")
        entries.append(_parse_text(found[1].strip(), number))
        at = found.end()
    return entries


def _parse_text(value: str, number: int) -> str:
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            raise _error(number, "the quoted text cannot be read", "Check its quotes.") from None
    if value.startswith("'"):
        if len(value) < 2 or not value.endswith("'"):
            raise _error(number, "the quoted text has no end", "Close its quotes.")
        return value[1:-1].replace("''", "'")
    if value[:1] in set("|>&*!{[%@`") and value:
        raise _error(
            number, f"{value!r} is not a plain value", "Put it on one line, in double quotes."
        )
    return value.partition(" #")[0].rstrip()


def _convert_fields(text: str, fields: dict[str, RawField]) -> PageContent:
    typed: dict[str, object] = {}
    for name, (number, value) in fields.items():
        if isinstance(value, list):
            typed[name] = tuple(sorted(set(value))) if name == "witnesses" else tuple(value)
        elif value:
            typed[name] = _convert(name, value, number)
    return PageContent(text=text, **typed)  # type: ignore[arg-type]  # `_convert` gives each its type


def _convert(name: str, value: str, number: int) -> str | int | bool:
    if name == "significance":
        if value not in {"0", "1", "2", "3"}:
            raise _error(number, f"{value!r} is not a significance", "Use 0, 1, 2 or 3.")
        return int(value)
    if name == "pinned":
        if value not in {"true", "false"}:
            raise _error(number, f"{value!r} is neither true nor false", "Use one of them.")
        return value == "true"
    if name == "scope":
        try:
            return check_scope(value)
        except Invalid as problem:
            raise _error(number, str(problem), problem.hint) from None
    if name == "happened_at" or (name == "durability" and value != DURABLE):
        return _parse_time(name, value, number)
    return value


def _parse_time(name: str, value: str, number: int) -> str:
    try:
        return _render_time(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        raise _error(
            number, f"{name} {value!r} is not a time", "Use 2026-05-17 or 2026-05-17T09:30."
        ) from None


def _error(number: int, problem: str, hint: str) -> Invalid:
    return Invalid(f"line {number}: {problem}", hint=hint)


# -- rendering -------------------------------------------------------------------------------------


def _render_value(value: str | int | bool | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_quote(each, listed=True) for each in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _quote(value)


def _quote(value: str, *, listed: bool = False) -> str:
    """The text unchanged where that is safe, else in double quotes and escaped."""
    plain = value.isprintable() and (_PLAIN.fullmatch(value) or _TIME.fullmatch(value))
    if plain and value.casefold() not in _RESERVED and not (listed and re.search("[,']", value)):
        return value
    letters = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in letters)


def _render_time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
