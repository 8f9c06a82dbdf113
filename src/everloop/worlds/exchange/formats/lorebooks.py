"""Lorebooks: of cards (V2, V3), stand-alone (`lorebook_v3`) and SillyTavern's world info.

A book is a frame and its entries. Each entry keeps the JSON it came from; on the way out only what
was changed since is written into it, so an unchanged book comes out equal.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import msgspec

from everloop.errors import Invalid
from everloop.worlds.exchange.formats.cards import without_decorators
from everloop.worlds.exchange.formats.json_text import (
    JsonObject,
    as_int,
    as_list,
    as_object,
    as_text,
    as_texts,
    encode_json,
)
from everloop.worlds.model.story_events import LoreEntry, LoreLogic

BookForm = Literal["book", "lorebook_v3", "world_info"]
LOGICS: Final[tuple[LoreLogic, ...]] = ("and_any", "not_all", "not_any", "and_all")
PRIORITY: Final = 100


class LoreBook(msgspec.Struct, frozen=True):
    """A lorebook. `frame` is its JSON without the entries; `keys` are theirs in world info."""

    book_id: str
    name: str
    form: BookForm
    frame: str
    entries: tuple[LoreEntry, ...] = ()


class FoundBook(msgspec.Struct, frozen=True):
    """A lorebook as a file has it, and what could not be taken over as it is."""

    book: LoreBook
    changed: tuple[str, ...] = ()


def book_form(value: JsonObject) -> BookForm | None:
    """The form of a lorebook file; None if it is none."""
    if value.get("spec") == "lorebook_v3" and isinstance(value.get("data"), dict):
        return "lorebook_v3"
    entries = value.get("entries")
    if isinstance(entries, dict):
        return "world_info"
    return "book" if isinstance(entries, list) else None


def read_book(value: JsonObject, book_id: str, name: str) -> FoundBook:
    """A lorebook from its JSON. Books of NovelAI, Agnai and Risu become one of a card.

    Raises:
        Invalid: it is no lorebook.
    """
    converted = _from_elsewhere(value)
    source = converted or value
    form = book_form(source)
    if form is None:
        raise Invalid(f"{name!r} is no lorebook", hint="docs/worlds.md lists what can be imported.")
    inner = as_object(source["data"]) if form == "lorebook_v3" else source
    keyed = _keyed_entries(inner)
    read = entry_from_world_info if form == "world_info" else entry_from_book
    entries = tuple(
        msgspec.structs.replace(
            read(entry, inner), entry_id=f"{book_id}-{number:05d}", book=book_id
        )
        for number, (_, entry) in enumerate(keyed)
    )
    frame = {**inner, "entries": [key for key, _ in keyed]}
    if form == "lorebook_v3":
        frame = {**source, "data": frame}
    title = as_text(inner.get("name")) or name
    book = LoreBook(book_id, title, form, encode_json(frame), entries)
    notes = [note for entry in entries if (note := _changed(entry))]
    if converted is not None:
        notes.insert(0, "converted from another program's form")
    return FoundBook(book, tuple(dict.fromkeys(notes)))


def write_book(book: LoreBook) -> JsonObject:
    """The JSON of a lorebook, in the form it came in."""
    frame: JsonObject = msgspec.json.decode(book.frame)
    inner = as_object(frame["data"]) if book.form == "lorebook_v3" else frame
    known = as_list(inner.get("entries"))
    numbered = sorted(book.entries, key=lambda one: one.entry_id)
    written = [(_number(one), write_entry(one, book.form, inner)) for one in numbered]
    if book.form == "world_info":
        inner["entries"] = {
            str(known[number] if 0 <= number < len(known) else entry.get("uid", number)): entry
            for number, entry in written
        }
    else:
        inner["entries"] = [entry for _, entry in written]
    return frame


def new_book(entries: Sequence[LoreEntry], name: str) -> LoreBook:
    """A lorebook of entries that came from no file."""
    inner: JsonObject = {"name": name, "extensions": {}, "entries": []}
    frame: JsonObject = {"spec": "lorebook_v3", "data": inner}
    return LoreBook("", name, "lorebook_v3", encode_json(frame), tuple(entries))


def write_entry(entry: LoreEntry, form: BookForm, book: JsonObject) -> JsonObject:
    """The JSON of a lore entry, with what was changed since it came in."""
    world_info = form == "world_info"
    read = entry_from_world_info if world_info else entry_from_book
    fields = _WORLD_INFO if world_info else _BOOK
    raw: JsonObject = msgspec.json.decode(entry.source) if entry.source else {}
    if raw and (("key" in raw) != world_info):
        raw = {}  # it came in the other form
    if not raw:
        raw = {"uid": _number(entry)} if world_info else {"extensions": {}}
        for name, write in fields.items():
            write(raw, getattr(entry, name))
        return raw
    before = read(raw, book)
    for name, write in fields.items():
        value = getattr(entry, name)
        if value != getattr(before, name):
            write(raw, value)
    return raw


# -- entries of cards ------------------------------------------------------------------------------


def entry_from_book(raw: JsonObject, book: JsonObject) -> LoreEntry:
    """An entry of a card's book. What SillyTavern adds stands in its extensions."""
    more = as_object(raw.get("extensions"))
    name = as_text(raw.get("name")) or as_text(raw.get("comment"))
    use_regex = raw.get("use_regex") is True
    keys = as_texts(raw.get("keys"))
    flagged = use_regex and any(_is_slashed(key) for key in keys)
    plain = use_regex and not flagged and "selectiveLogic" in more  # SillyTavern always sets it
    return LoreEntry(
        "",
        without_decorators(as_text(raw.get("content"))),
        title=name,
        keys=tuple(_pattern(key) for key in keys) if flagged else keys,
        secondary_keys=as_texts(raw.get("secondary_keys")) if raw.get("selective") else (),
        constant=raw.get("constant") is True,
        enabled=raw.get("enabled") is not False,
        case_sensitive=raw.get("case_sensitive") is True or more.get("case_sensitive") is True,
        regex=use_regex and not plain,
        priority=as_int(raw.get("priority"), PRIORITY),
        order=as_int(raw.get("insertion_order"), PRIORITY),
        recursive=book.get("recursive_scanning") is not False
        and more.get("prevent_recursion") is not True,
        logic=_logic(more.get("selectiveLogic")),
        scan_depth=as_int(more.get("scan_depth"), as_int(book.get("scan_depth"), 0)),
        recursed=more.get("exclude_recursion") is not True,
        source=encode_json(raw),
    )


def entry_from_world_info(raw: JsonObject, book: JsonObject) -> LoreEntry:
    """An entry of SillyTavern's world info."""
    del book
    keys = as_texts(raw.get("key"))
    patterns = any(_is_slashed(key) for key in keys)
    escaped = tuple(_pattern(key) if _is_slashed(key) else _literal(key) for key in keys)
    return LoreEntry(
        "",
        without_decorators(as_text(raw.get("content"))),
        title=as_text(raw.get("comment")),
        keys=escaped if patterns else keys,
        secondary_keys=as_texts(raw.get("keysecondary")) if raw.get("selective", True) else (),
        constant=raw.get("constant") is True,
        enabled=raw.get("disable") is not True,
        case_sensitive=raw.get("caseSensitive") is True,
        regex=patterns,
        priority=as_int(raw.get("order"), PRIORITY),
        order=as_int(raw.get("order"), PRIORITY),
        recursive=raw.get("preventRecursion") is not True,
        logic=_logic(raw.get("selectiveLogic")),
        scan_depth=as_int(raw.get("scanDepth"), 0),
        recursed=raw.get("excludeRecursion") is not True,
        source=encode_json(raw),
    )


def _keyed_entries(book: JsonObject) -> list[tuple[str, JsonObject]]:
    entries: object = book.get("entries")
    if not isinstance(entries, list):
        return [(str(key), as_object(one)) for key, one in as_object(entries).items()]
    return [(str(number), as_object(one)) for number, one in enumerate(as_list(book["entries"]))]


def _number(entry: LoreEntry) -> int:
    digits = entry.entry_id.rpartition("-")[2]
    return int(digits) if digits.isdecimal() and digits.isascii() else -1


def _logic(value: object) -> LoreLogic:
    number = as_int(value, 0)
    return LOGICS[number] if 0 <= number < len(LOGICS) else "and_any"


def _is_slashed(key: str) -> bool:
    return len(key) > 2 and key.startswith("/") and "/" in key[1:]


def _pattern(key: str) -> str:
    """A key `/pattern/flags` as a pattern for the `regex` package."""
    if not _is_slashed(key):
        return key
    body, _, flags = key[1:].rpartition("/")
    known = "".join(flag for flag in flags if flag in "ims")
    return f"(?{known}){body}" if known else body


def _literal(key: str) -> str:
    return "".join(f"\\{sign}" if sign in r"\.^$*+?{}[]|()" else sign for sign in key)


def _changed(entry: LoreEntry) -> str:
    raw = msgspec.json.decode(entry.source, type=dict[str, Any])
    return "decorators are kept, but have no effect" if "@@" in as_text(raw.get("content")) else ""


# -- books of other programs -----------------------------------------------------------------------


def _from_elsewhere(value: JsonObject) -> JsonObject | None:
    if "lorebookVersion" in value:
        entries = [_from_novelai(as_object(one)) for one in as_list(value.get("entries"))]
    elif value.get("kind") == "memory":
        entries = [_from_agnai(as_object(one)) for one in as_list(value.get("entries"))]
    elif value.get("type") == "risu":
        entries = [_from_risu(as_object(one)) for one in as_list(value.get("data"))]
    else:
        return None
    return {"name": as_text(value.get("name")), "extensions": {}, "entries": entries}


def _from_novelai(raw: JsonObject) -> JsonObject:
    budget = as_object(raw.get("contextConfig"))
    return {
        "keys": list(as_texts(raw.get("keys"))),
        "content": as_text(raw.get("text")),
        "name": as_text(raw.get("displayName")),
        "enabled": raw.get("enabled") is not False,
        "constant": raw.get("forceActivation") is True,
        "insertion_order": as_int(budget.get("budgetPriority"), PRIORITY),
        "extensions": {"novelai": raw},
    }


def _from_agnai(raw: JsonObject) -> JsonObject:
    return {
        "keys": list(as_texts(raw.get("keywords"))),
        "content": as_text(raw.get("entry")),
        "name": as_text(raw.get("name")),
        "enabled": raw.get("enabled") is not False,
        "insertion_order": as_int(raw.get("weight"), PRIORITY),
        "priority": as_int(raw.get("priority"), PRIORITY),
        "extensions": {"agnai": raw},
    }


def _from_risu(raw: JsonObject) -> JsonObject:
    return {
        "keys": [key.strip() for key in as_text(raw.get("key")).split(",") if key.strip()],
        "secondary_keys": [
            key.strip() for key in as_text(raw.get("secondkey")).split(",") if key.strip()
        ],
        "selective": raw.get("selective") is True,
        "content": as_text(raw.get("content")),
        "name": as_text(raw.get("comment")),
        "enabled": True,
        "constant": raw.get("alwaysActive") is True,
        "insertion_order": as_int(raw.get("insertorder"), PRIORITY),
        "extensions": {"risu": raw},
    }


# -- writing what was changed ----------------------------------------------------------------------

_Write = Callable[[JsonObject, Any], None]


def _to(key: str) -> _Write:
    def write(raw: JsonObject, value: Any) -> None:
        raw[key] = value

    return write


def _to_opposite(key: str) -> _Write:
    def write(raw: JsonObject, value: Any) -> None:
        raw[key] = not value

    return write


def _to_extension(key: str, convert: Callable[[Any], Any]) -> _Write:
    def write(raw: JsonObject, value: Any) -> None:
        new = convert(value)
        if new or key in as_object(raw.get("extensions")):
            raw["extensions"] = {**as_object(raw.get("extensions")), key: new}

    return write


def _secondary(key: str) -> _Write:
    def write(raw: JsonObject, value: Any) -> None:
        if value or key in raw:
            raw[key] = list(value)
            raw["selective"] = bool(value)

    return write


_BOOK: Final[dict[str, _Write]] = {
    "keys": lambda raw, value: raw.update(keys=list(value)),
    "content": _to("content"),
    "title": _to("name"),
    "enabled": _to("enabled"),
    "order": _to("insertion_order"),
    "case_sensitive": _to("case_sensitive"),
    "regex": _to("use_regex"),
    "priority": _to("priority"),
    "secondary_keys": _secondary("secondary_keys"),
    "constant": _to("constant"),
    "recursive": _to_extension("prevent_recursion", lambda value: not value),
    "logic": _to_extension("selectiveLogic", LOGICS.index),
    "scan_depth": _to_extension("scan_depth", lambda value: value),
    "recursed": _to_extension("exclude_recursion", lambda value: not value),
}
_WORLD_INFO: Final[dict[str, _Write]] = {
    "keys": lambda raw, value: raw.update(key=list(value)),
    "content": _to("content"),
    "title": _to("comment"),
    "enabled": _to_opposite("disable"),
    "order": _to("order"),
    "case_sensitive": _to("caseSensitive"),
    "secondary_keys": _secondary("keysecondary"),
    "constant": _to("constant"),
    "recursive": _to_opposite("preventRecursion"),
    "logic": lambda raw, value: raw.update(selectiveLogic=LOGICS.index(value)),
    "scan_depth": _to("scanDepth"),
    "recursed": _to_opposite("excludeRecursion"),
}
