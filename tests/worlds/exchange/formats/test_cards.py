"""Character cards: every version in every container comes out as it came in."""

from typing import Any

import msgspec
import pytest
from tests.worlds.exchange.samples import V1, V2, V3, encode, png_card

from everloop.errors import Invalid
from everloop.worlds.exchange.formats.archives import write_zip
from everloop.worlds.exchange.formats.card_files import (
    read_card_file,
    write_charx,
    write_png,
)
from everloop.worlds.exchange.formats.cards import card_from_sheet, card_version, sheet_from_card
from everloop.worlds.exchange.settings import ExchangeLimits
from everloop.worlds.model.values import CharacterSheet

LIMITS = ExchangeLimits()


@pytest.mark.parametrize("card", [V1, V2, V3], ids=["v1", "v2", "v3"])
def test_a_card_becomes_a_sheet_and_an_equal_card(card: dict[str, Any]) -> None:
    read = read_card_file(encode(card), "ada.json", LIMITS)
    sheet = sheet_from_card(read.card)
    assert sheet.name == "Ada"
    assert sheet.voice_samples == ("{{char}}: Up we go.", "{{char}}: Down again.")
    assert card_from_sheet(sheet) == card


@pytest.mark.parametrize(
    ("chunks", "wanted"),
    [({"chara": V1}, V1), ({"Chara": V2}, V2), ({"chara": V2, "ccv3": V3}, V3)],
    ids=["v1", "v2 in odd case", "v3 wins"],
)
def test_a_png_card_comes_out_equal(chunks: dict[str, Any], wanted: dict[str, Any]) -> None:
    read = read_card_file(png_card(chunks), "ada.png", LIMITS)
    card = card_from_sheet(sheet_from_card(read.card))
    again = read_card_file(write_png(card, None, read.portrait, "ada"), "ada.png", LIMITS)
    assert again.card == wanted
    assert card_version(again.card) == card_version(wanted)


def test_a_charx_keeps_its_assets_and_shows_its_main_icon() -> None:
    icon = png_card({"chara": V1})
    assets = {"assets/icon/images/main.png": icon, "assets/other/map.bin": b"\0\1"}
    read = read_card_file(write_charx(V3, assets), "ada.charx", LIMITS)
    assert (read.card, read.assets, read.portrait) == (V3, assets, icon)
    behind_a_picture = b"\xff\xd8\xff" + b"picture" + write_charx(V3, assets)
    assert read_card_file(behind_a_picture, "ada.jpg", LIMITS).card == V3


def test_only_what_was_changed_is_written_into_the_card() -> None:
    sheet = sheet_from_card(V2)
    changed = msgspec.structs.replace(
        sheet, description="A retired pilot.", greetings=("Hi.",), traits=("dry",)
    )
    card = card_from_sheet(changed)
    extensions = {**V2["data"]["extensions"], "everloop": {"traits": ["dry"]}}
    new: dict[str, Any] = {
        "description": "A retired pilot.",
        "first_mes": "Hi.",
        "alternate_greetings": [],
    }
    assert card == {**V2, "data": {**V2["data"], **new, "extensions": extensions}}
    again = sheet_from_card(card)
    assert msgspec.structs.replace(again, card=sheet.card) == changed


def test_a_character_without_a_card_gets_a_new_one() -> None:
    sheet = CharacterSheet("Ben", "A cook.", greetings=("Hey.", "Oh."), traits=("loud",))
    again = sheet_from_card(card_from_sheet(sheet))
    assert msgspec.structs.replace(again, card="") == sheet
    assert card_from_sheet(sheet, "v1")["first_mes"] == "Hey."
    assert card_from_sheet(sheet, "v2")["spec"] == "chara_card_v2"


def test_older_forms_are_read() -> None:
    old = {"char_name": "Ada", "char_persona": "A pilot.", "char_greeting": "Hello."}
    sheet = sheet_from_card(read_card_file(encode(old), "a.json", LIMITS).card)
    assert (sheet.name, sheet.description, sheet.greetings) == ("Ada", "A pilot.", ("Hello.",))
    written = b"name: Ada\ncontext: A pilot.\ngreeting: Hello.\n"
    sheet = sheet_from_card(read_card_file(written, "a.yaml", LIMITS).card)
    assert (sheet.name, sheet.description, sheet.greetings) == ("Ada", "A pilot.", ("Hello.",))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"name": 1}',
        b'{"spec": "chara_card_v2"}',
        write_zip({"other.json": b"{}"}),
        png_card({}),
        png_card({"chara": {"nothing": 1}}),
    ],
)
def test_a_file_without_a_card_is_refused(content: bytes) -> None:
    with pytest.raises(Invalid) as refused:
        sheet_from_card(read_card_file(content, "a.json", LIMITS).card)
    assert refused.value.hint
