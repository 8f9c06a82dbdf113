"""Character cards V1, V2 and V3 as JSON: a card becomes a sheet, and a sheet its card again.

The sheet keeps the card as it was, unknown keys included. On the way out only those fields of the
card are written that were changed in the sheet since, so an unchanged card comes out equal.
"""

import re
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

import msgspec

from everloop.errors import Invalid
from everloop.worlds.exchange.formats.json_text import (
    JsonObject,
    as_list,
    as_object,
    as_text,
    as_texts,
    encode_json,
)
from everloop.worlds.model.values import CharacterSheet

CardVersion = Literal["v1", "v2", "v3"]
SPECS: Final[dict[str, CardVersion]] = {"chara_card_v2": "v2", "chara_card_v3": "v3"}
V1_FIELDS: Final = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
NAME_MAX: Final = 100
OWN_FIELDS: Final = "everloop"  # in `extensions`: what cards have no field for
_PYGMALION: Final = {
    "char_name": "name",
    "char_persona": "description",
    "char_greeting": "first_mes",
    "example_dialogue": "mes_example",
    "world_scenario": "scenario",
    "context": "description",
    "greeting": "first_mes",
}
_START: Final = re.compile(r"<START>", re.IGNORECASE)


class _Field(NamedTuple):
    """A field of a sheet that stands in a card: how to read it from there and write it back."""

    sheet: str
    read: Callable[[JsonObject], Any]
    write: Callable[[JsonObject, Any], None]


def is_card(value: JsonObject) -> bool:
    """Whether a JSON object looks like a character card of any version."""
    if as_text(value.get("spec")).startswith("chara_card"):
        return isinstance(value.get("data"), dict)
    has = value.keys()
    return bool({"char_name", "char_persona"} <= has or {"name", "context", "greeting"} <= has) or (
        "name" in has and bool({"first_mes", "mes_example", "personality", "scenario"} & has)
    )


def card_version(card: JsonObject) -> CardVersion:
    """The version of a card; one of a newer kind is read as V3."""
    spec = as_text(card.get("spec"))
    if spec in SPECS:
        return SPECS[spec]
    return "v3" if spec.startswith("chara_card") else "v1"


def sheet_from_card(card: JsonObject, *, portrait: str = "") -> CharacterSheet:
    """The character on a card.

    Raises:
        Invalid: the card has no name.
    """
    data = _data(card)
    values = {field.sheet: field.read(data) for field in _FIELDS}
    name = " ".join(values["name"].split())[:NAME_MAX].strip()
    if not name:
        raise Invalid("the card has no name", hint="Give the character a name, and export again.")
    values["name"] = name
    own = as_object(as_object(data.get("extensions")).get(OWN_FIELDS))
    traits = as_texts(own.get("traits"))
    return CharacterSheet(**values, traits=traits, portrait=portrait, card=encode_json(card))


def card_from_sheet(sheet: CharacterSheet, version: CardVersion | None = None) -> JsonObject:
    """The card of a character, in the version it came in or another."""
    card: JsonObject = msgspec.json.decode(sheet.card) if sheet.card else {}
    if not _is_card_json(card):
        card = _empty_card()
        data = as_object(card["data"])
        for field in _FIELDS:
            field.write(data, getattr(sheet, field.sheet))
        _write_own(data, sheet)
    else:
        _write_changes(card, sheet)
    wanted = version or card_version(card)
    return card if wanted == card_version(card) else _convert(card, wanted)


def card_book(card: JsonObject) -> JsonObject | None:
    """The lorebook in a card."""
    return as_object(_data(card).get("character_book")) or None


def card_of_sheet(sheet: CharacterSheet) -> JsonObject | None:
    """The card that a sheet was imported from."""
    card: JsonObject = msgspec.json.decode(sheet.card) if sheet.card else {}
    return card if _is_card_json(card) else None


def without_decorators(content: str) -> str:
    """The text of a lore entry without the `@@` lines before it."""
    lines = content.split("\n")
    while lines and lines[0].lstrip().startswith("@@"):
        lines.pop(0)
    return "\n".join(lines)


def _is_card_json(card: JsonObject) -> bool:
    return bool(card) and is_card(card)


def _data(card: JsonObject) -> JsonObject:
    """The fields of a card, under their usual names."""
    if isinstance(card.get("data"), dict):
        return as_object(card["data"])
    if any(key in card for key in _PYGMALION):
        renamed = {new: card[old] for old, new in _PYGMALION.items() if old in card}
        return {**renamed, **{key: card[key] for key in V1_FIELDS if card.get(key)}}
    return card


def _write_changes(card: JsonObject, sheet: CharacterSheet) -> None:
    before = sheet_from_card(card)
    data = as_object(card["data"]) if isinstance(card.get("data"), dict) else card
    for field in _FIELDS:
        value = getattr(sheet, field.sheet)
        if value != getattr(before, field.sheet):
            field.write(data, value)
            if data is not card:  # SillyTavern repeats the fields of V1 on top
                card |= {str(key): data.get(key) for key in V1_FIELDS if key in card}
    if sheet.traits != before.traits:
        _write_own(data, sheet)


def _write_own(data: JsonObject, sheet: CharacterSheet) -> None:
    if sheet.traits:
        extensions = dict(as_object(data.get("extensions")))
        extensions[OWN_FIELDS] = {"traits": list(sheet.traits)}
        data["extensions"] = extensions


def _empty_card() -> JsonObject:
    data: JsonObject = dict.fromkeys(V1_FIELDS, "")
    data |= dict.fromkeys(("creator_notes", "system_prompt", "post_history_instructions"), "")
    data |= {"alternate_greetings": [], "tags": [], "creator": "", "character_version": ""}
    data |= {"extensions": {}, "group_only_greetings": []}
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data}


def _convert(card: JsonObject, version: CardVersion) -> JsonObject:
    data = _data(card)
    if version == "v1":
        return {key: as_text(data.get(key)) for key in V1_FIELDS}
    full = {**as_object(_empty_card()["data"]), **data}
    if version == "v3":
        return {"spec": "chara_card_v3", "spec_version": "3.0", "data": full}
    if book := as_object(full.get("character_book")):
        full["character_book"] = _book_without_decorators(book)
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": full}


def _book_without_decorators(book: JsonObject) -> JsonObject:
    entries = [
        {**entry, "content": without_decorators(as_text(entry.get("content")))}
        for entry in map(as_object, as_list(book.get("entries")))
    ]
    return {**book, "entries": entries}


# -- fields ----------------------------------------------------------------------------------------


def _text_field(sheet: str, key: str) -> _Field:
    def write(data: JsonObject, value: Any) -> None:
        data[key] = value

    def read(data: JsonObject) -> str:
        return as_text(data.get(key))

    return _Field(sheet, read, write)


def _read_samples(data: JsonObject) -> tuple[str, ...]:
    parts = _START.split(as_text(data.get("mes_example")))
    return tuple(part.strip() for part in parts if part.strip())


def _write_samples(data: JsonObject, samples: tuple[str, ...]) -> None:
    data["mes_example"] = "\n".join(f"<START>\n{sample}" for sample in samples)


def _read_greetings(data: JsonObject) -> tuple[str, ...]:
    first = as_text(data.get("first_mes"))
    others = as_texts(data.get("alternate_greetings"))
    return (first, *others) if first or others else ()


def _write_greetings(data: JsonObject, greetings: tuple[str, ...]) -> None:
    data["first_mes"] = greetings[0] if greetings else ""
    if len(greetings) > 1 or "alternate_greetings" in data:
        data["alternate_greetings"] = list(greetings[1:])


def _read_nickname(data: JsonObject) -> str:
    return as_text(data.get("nickname"))


def _write_nickname(data: JsonObject, nickname: str) -> None:
    if nickname or "nickname" in data:
        data["nickname"] = nickname


def _read_tags(data: JsonObject) -> tuple[str, ...]:
    return as_texts(data.get("tags"))


def _write_tags(data: JsonObject, tags: tuple[str, ...]) -> None:
    data["tags"] = list(tags)


_FIELDS: Final = (
    *(_text_field(key, key) for key in ("name", "description", "personality", "scenario")),
    _Field("voice_samples", _read_samples, _write_samples),
    _Field("greetings", _read_greetings, _write_greetings),
    _Field("nickname", _read_nickname, _write_nickname),
    _text_field("creator_notes", "creator_notes"),
    _text_field("instructions", "system_prompt"),
    _text_field("closing_instructions", "post_history_instructions"),
    _Field("tags", _read_tags, _write_tags),
)
