"""An item as a Markdown page with front matter, and back. Pure; files are somebody else's business.

A page is what a person reads and edits. It carries a digest of what was written, so an edit can be
told from a page that is merely old. The front matter is the part of YAML that needs no library and
holds no surprises: `name: value`, with text in double quotes where YAML would read something else
into it, and lists in brackets or on lines of their own. Any YAML reader understands what we write;
we read no more than that, so that `no` stays a word and never becomes `False`.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from everloop.errors import Invalid
from everloop.memory.model.scopes import check_scope
from everloop.memory.projections.queries import Item

FENCE: Final = "---"
DURABLE: Final = "durable"
WORDS: Final = ("title", "text", "scope", "witnesses")  # what a revision changes
MARKS: Final = ("significance", "pinned")
FIXED: Final = (
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
NAMES: Final = ("id", "title", "kind", "scope", "witnesses", *MARKS, *FIXED[1:], "exported")
LISTS: Final = ("witnesses", "derived_from")
DIGEST_LENGTH: Final = 24

_LINE = re.compile(r"(?P<name>[A-Za-z_]+):(?:[ \t]+(?P<value>.*))?")
_ENTRY = re.compile(r"[ \t]*-[ \t]+(?P<value>.*)")
_LISTED = re.compile(r"""[ \t]*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,\[\]"']*)[ \t]*(?:,|$)""")
_PLAIN = re.compile(r"[^\W\d_](?:[\w.,;()'+/@…-]|:(?=\w)| (?=[\w('+/@…]))*")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00")
_RESERVED: Final = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
_ID_LINE = re.compile(r"(?im)^[ \t\"']*id[\"']?[ \t]*[:=][ \t]*[\"']?(?P<id>[^\s\"'#]+)")


class Sheet(msgspec.Struct, frozen=True):
    """What a page says. None: the page does not say, so it stays as it is."""

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


_BLANK: Final = Sheet(  # a page leaves out only what is empty, so this fills it up again
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


def sheet_of(item: Item) -> Sheet:
    """What a page about an item says, in full."""
    return Sheet(
        text=item.text,
        id=item.item_id,
        title=item.title,
        kind=item.kind,
        scope=item.scope,
        witnesses=tuple(sorted(item.witnesses)),
        significance=item.significance,
        pinned=item.pinned,
        happened_at=_time(item.happened_at),
        durability=_time(item.holds_until) if item.holds_until else DURABLE,
        learned_via=item.learned_via,
        derived_from=item.derived_from,
        host=item.origin.host,
        session=item.origin.session,
        model=item.origin.model,
        folder=item.origin.folder,
    )


def digest(sheet: Sheet) -> str:
    """A digest of what a page says. Line endings, and empty lines around the text, do not count."""
    plain = msgspec.structs.asdict(msgspec.structs.replace(sheet, exported="", text=even(sheet)))
    content = json.dumps(plain, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]


def filled(sheet: Sheet, base: Sheet) -> Sheet:
    """A page with what it does not say taken from `base`."""
    given = {
        name: value
        for name, value in msgspec.structs.asdict(sheet).items()
        if value is not None and name != "exported"
    }
    return msgspec.structs.replace(base, **given)


def differing(one: Sheet, other: Sheet) -> list[str]:
    """The names of the fields in which two full pages differ, in their order."""
    found = [name for name in NAMES[1:-1] if getattr(one, name) != getattr(other, name)]
    return found if even(one) == even(other) else ["text", *found]


def even(sheet: Sheet) -> str:
    """The text as it is compared: line endings, and empty lines around it, do not count."""
    return sheet.text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")


def untouched(sheet: Sheet) -> bool:
    """Whether a page says what it said when it was written, by nothing but the page itself."""
    return bool(sheet.exported) and digest(filled(sheet, _BLANK)) == sheet.exported


def written(sheet: Sheet) -> str:
    """The page itself. Reading it gives the sheet again, with the digest of it."""
    lines = [FENCE]
    for name in NAMES:
        value = digest(sheet) if name == "exported" else getattr(sheet, name)
        if value is not None and not (value == "" and name not in WORDS):
            lines.append(f"{name}: {_spelt(value)}")
    return "\n".join([*lines, FENCE, "", sheet.text, ""])


def seeming_id(page: str) -> str:
    """The id that a page seems to have, also if its front matter cannot be read; else empty."""
    found = _ID_LINE.search(page)
    return found["id"] if found else ""


def read(page: str) -> Sheet:
    """What a page says.

    Raises:
        Invalid: its front matter cannot be read; the message names the line.
    """
    page = page.removeprefix("\ufeff")
    if page.startswith(f"{FENCE}\r\n"):
        page = page.replace("\r\n", "\n")
    lines = page.split("\n")
    if lines[0].rstrip() != FENCE:
        return Sheet(text=page.removesuffix("\n"))
    ends = [number for number, line in enumerate(lines) if number and line.rstrip() == FENCE]
    if not ends:
        raise _wrong(1, "the front matter has no end", "Close it with a line of three hyphens.")
    fields = _fields(lines[1 : ends[0]])
    body = lines[ends[0] + 1 :]
    if body and not body[0]:
        body = body[1:]
    text = "\n".join(body).removesuffix("\n")
    return _sheet(text, fields)


# -- reading ---------------------------------------------------------------------------------------

Raw = tuple[int, str | list[str]]  # the line it stands on, and what it says


def _fields(lines: Sequence[str]) -> dict[str, Raw]:
    """The fields of the front matter, each with its line."""
    fields: dict[str, Raw] = {}
    name = ""
    for number, line in enumerate(lines, start=2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if entry := _ENTRY.fullmatch(line):
            _add_entry(fields, name, number, entry["value"])
            continue
        found = _LINE.fullmatch(line.rstrip())
        if not found:
            raise _wrong(number, f"{line.strip()!r} is no field", "Write `name: value`.")
        name = found["name"]
        if name not in NAMES:
            raise _wrong(number, f"{name!r} is not a field", f"There are: {', '.join(NAMES)}.")
        if name in fields:
            raise _wrong(number, f"{name!r} is there twice", "Keep one of them.")
        value = (found["value"] or "").strip()
        fields[name] = (number, _listed(value, number) if name in LISTS else _text(value, number))
    return fields


def _add_entry(fields: dict[str, Raw], name: str, number: int, value: str) -> None:
    values = fields[name][1] if name in fields else None
    if not isinstance(values, list):
        raise _wrong(number, "a list entry belongs to no list", f"Lists are: {', '.join(LISTS)}.")
    values.append(_text(value.strip(), number))


def _listed(value: str, number: int) -> list[str]:
    """The entries of a list in brackets; one value by itself is a list of one."""
    if not value:
        return []
    if not value.startswith("["):
        return [_text(value, number)]
    if not value.endswith("]"):
        raise _wrong(number, "the list has no end", "Close it with a bracket: [ada, ben]")
    inner, at = value[1:-1].strip(), 0
    entries: list[str] = []
    while at < len(inner):
        found = _LISTED.match(inner, at)
        if not found or not found[1].strip():
            raise _wrong(number, "the list cannot be read", "Write it as [ada, ben].")
        entries.append(_text(found[1].strip(), number))
        at = found.end()
    return entries


def _text(value: str, number: int) -> str:
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            raise _wrong(number, "the quoted text cannot be read", "Check its quotes.") from None
    if value.startswith("'"):
        if len(value) < 2 or not value.endswith("'"):
            raise _wrong(number, "the quoted text has no end", "Close its quotes.")
        return value[1:-1].replace("''", "'")
    if value[:1] in set("|>&*!{[%@`") and value:
        raise _wrong(number, f"{value!r} is more than a value", "Put it on one line, in quotes.")
    return value.partition(" #")[0].rstrip()


def _sheet(text: str, fields: dict[str, Raw]) -> Sheet:
    said: dict[str, object] = {}
    for name, (number, value) in fields.items():
        if isinstance(value, list):
            said[name] = tuple(sorted(set(value))) if name == "witnesses" else tuple(value)
        elif value:
            said[name] = _checked(name, value, number)
    return Sheet(text=text, **said)  # type: ignore[arg-type]  # `_checked` gives each its type


def _checked(name: str, value: str, number: int) -> str | int | bool:
    if name == "significance":
        if value not in {"0", "1", "2", "3"}:
            raise _wrong(number, f"{value!r} is no significance", "Use 0, 1, 2 or 3.")
        return int(value)
    if name == "pinned":
        if value not in {"true", "false"}:
            raise _wrong(number, f"{value!r} is neither true nor false", "Use one of them.")
        return value == "true"
    if name == "scope":
        try:
            return check_scope(value)
        except Invalid as problem:
            raise _wrong(number, str(problem), problem.hint) from None
    if name == "happened_at" or (name == "durability" and value != DURABLE):
        return _moment(name, value, number)
    return value


def _moment(name: str, value: str, number: int) -> str:
    try:
        return _time(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        raise _wrong(
            number, f"{name} {value!r} is not a time", "Use 2026-05-17 or 2026-05-17T09:30."
        ) from None


def _wrong(number: int, problem: str, hint: str) -> Invalid:
    return Invalid(f"line {number}: {problem}", hint=hint)


# -- writing ---------------------------------------------------------------------------------------


def _spelt(value: str | int | bool | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_quoted(each, listed=True) for each in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _quoted(value)


def _quoted(value: str, *, listed: bool = False) -> str:
    """The text as it is where that is safe, else in double quotes, with no raw control in it."""
    plain = value.isprintable() and (_PLAIN.fullmatch(value) or _TIME.fullmatch(value))
    if plain and value.casefold() not in _RESERVED and not (listed and re.search("[,']", value)):
        return value
    letters = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in letters)


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
