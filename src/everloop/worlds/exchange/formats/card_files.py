"""Files that hold a character card: PNG, JSON, YAML and CHARX, read and written."""

import base64
import binascii
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from everloop.errors import Invalid
from everloop.worlds.exchange.formats import png
from everloop.worlds.exchange.formats.archives import ZIP, ZipFiles, write_zip
from everloop.worlds.exchange.formats.cards import card_version, is_card
from everloop.worlds.exchange.formats.json_text import (
    JsonObject,
    as_list,
    as_object,
    as_text,
    decode_object,
    encode_json,
)
from everloop.worlds.exchange.settings import ExchangeLimits

CardForm = Literal["png", "json", "charx"]
CARD_JSON: Final = "card.json"
_KEYWORDS: Final = ("ccv3", "chara")
_SCHEMES: Final = ("embeded://", "embedded://", "__asset:")
_MAIN_ICON: Final = "main"
_RISU: Final = "rcc||"
FORMATS_HINT: Final = "docs/worlds.md lists what can be imported."


class CardFile(msgspec.Struct, frozen=True):
    """A card with its portrait, and the other files of a CHARX by their names."""

    card: JsonObject
    form: CardForm
    portrait: bytes = b""
    assets: Mapping[str, bytes] = {}


def read_card_file(content: bytes, name: str, limits: ExchangeLimits) -> CardFile:
    """The card in a file of any form, told by its first bytes.

    Raises:
        Invalid: it has no card, or is damaged, hostile or encrypted.
    """
    if len(content) > limits.file_bytes_max:
        raise Invalid(
            f"{name!r} has {len(content):,} bytes, more than {limits.file_bytes_max:,}",
            hint="The setting exchange.file_bytes_max allows larger files.",
        )
    if content.startswith(png.SIGNATURE):
        return _read_png(content, name, limits)
    if content.startswith((ZIP, b"\xff\xd8\xff")):
        return _read_charx(content, name, limits)
    if name.lower().endswith((".yaml", ".yml")):
        return CardFile(_read_yaml(content, name, limits), "json")
    return CardFile(_check_card(decode_object(content, name, limits), name), "json")


def write_png(card: JsonObject, older: JsonObject | None, portrait: bytes, name: str) -> bytes:
    """A PNG with a card in it; `older` is the same card in V2, for programs that know no V3."""
    generous = ExchangeLimits(file_bytes_max=2**40, chunk_bytes_max=2**31, pixels_max=2**40)
    picture = portrait if portrait.startswith(png.SIGNATURE) else png.plain_picture()
    chunks = png.read_chunks(picture, name, generous)
    keyword = "ccv3" if card_version(card) == "v3" else "chara"
    texts = {"chara": _encode(older)} if older is not None else {}
    return png.replace_texts(chunks, {**texts, keyword: _encode(card)}, _KEYWORDS)


def write_charx(card: JsonObject, assets: Mapping[str, bytes]) -> bytes:
    """A CHARX file: the card and its assets."""
    return write_zip({CARD_JSON: encode_json(card).encode(), **assets})


def _read_png(content: bytes, name: str, limits: ExchangeLimits) -> CardFile:
    chunks = png.read_chunks(content, name, limits)
    texts = png.text_chunks(chunks, name, limits)
    keyword = next((key for key in _KEYWORDS if key in texts), None)
    if keyword is None:
        raise Invalid(
            f"{name!r} is a picture without a character card",
            hint="Download the card itself; some sites strip it from previews.",
        )
    card = _check_card(decode_object(_decode(texts[keyword], name), name, limits), name)
    extra = {key: text for key, text in texts.items() if key.startswith("chara-ext-asset_")}
    return CardFile(card, "png", content, extra)


def _decode(text: bytes, name: str) -> bytes:
    if text.startswith(_RISU.encode()):
        raise Invalid(f"{name!r} is encrypted by Risu", hint="Export it from Risu as PNG or CHARX.")
    try:
        return base64.b64decode(text.translate(None, b" \r\n\t"), validate=True)
    except (binascii.Error, ValueError):
        raise Invalid(f"the card in {name!r} is damaged", hint=png.HINT) from None


def _encode(card: JsonObject) -> bytes:
    return base64.b64encode(encode_json(card).encode())


def _read_charx(content: bytes, name: str, limits: ExchangeLimits) -> CardFile:
    files = ZipFiles(content, name, limits)
    if CARD_JSON not in files.sizes:
        raise Invalid(f"{name!r} has no {CARD_JSON}", hint=FORMATS_HINT)
    card = _check_card(decode_object(files.read(CARD_JSON), name, limits), name)
    assets = {each: files.read(each) for each in files.sizes if each != CARD_JSON}
    return CardFile(card, "charx", _main_icon(card, assets), assets)


def _main_icon(card: JsonObject, assets: Mapping[str, bytes]) -> bytes:
    icons = [
        as_object(one)
        for one in as_list(as_object(card.get("data")).get("assets"))
        if as_object(one).get("type") == "icon"
    ]
    icons.sort(key=lambda one: one.get("name") != _MAIN_ICON)
    for icon in icons:
        uri = as_text(icon.get("uri"))
        path = next((uri.removeprefix(each) for each in _SCHEMES if uri.startswith(each)), "")
        if path in assets and png.picture_media_type(assets[path]):
            return assets[path]
    return b""


def _read_yaml(content: bytes, name: str, limits: ExchangeLimits) -> JsonObject:
    if len(content) > limits.chunk_bytes_max:
        raise Invalid(f"{name!r} is too large for YAML", hint="Convert it to JSON.")
    import yaml  # noqa: PLC0415 - few cards are YAML; other commands start without it

    try:
        value: object = yaml.load(content, Loader=yaml.BaseLoader)  # noqa: S506 - texts only
    except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as problem:
        raise Invalid(f"{name!r} is not YAML: {problem}", hint=FORMATS_HINT) from None
    card = decode_object(encode_json(as_object(value)).encode(), name, limits)
    return _check_card(card, name)


def _check_card(card: JsonObject, name: str) -> JsonObject:
    if not is_card(card):
        raise Invalid(f"{name!r} is no character card", hint=FORMATS_HINT)
    return card
