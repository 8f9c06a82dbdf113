"""Hostile and damaged files are refused with a hint, and never unpacked or followed."""

import base64
import io
import struct
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds.exchange.samples import (
    BOOK,
    V2,
    V3,
    WORLD_INFO,
    chat_file,
    chunk,
    encode,
    png_card,
)

from everloop.errors import Invalid, Rejected
from everloop.worlds.exchange.formats.archives import FolderFiles, ZipFiles
from everloop.worlds.exchange.formats.card_files import read_card_file
from everloop.worlds.exchange.formats.cards import card_from_sheet, sheet_from_card
from everloop.worlds.exchange.formats.chats import read_chat
from everloop.worlds.exchange.formats.json_text import decode_object
from everloop.worlds.exchange.formats.lorebooks import read_book, write_book
from everloop.worlds.exchange.settings import ExchangeLimits
from everloop.worlds.exchange.sources import source_of

LIMITS = ExchangeLimits()
GOOD = png_card({"chara": V2})
END = GOOD.index(b"IEND") - 4


def zipped(files: dict[str, bytes], flags: int = 0) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    data = bytearray(packed.getvalue())
    at = data.index(b"PK\1\2")
    data[at + 8] |= flags
    return bytes(data)


def bad_crc() -> bytes:
    return GOOD[: END - 5] + bytes([GOOD[END - 5] ^ 1]) + GOOD[END - 4 :]


def huge_claim() -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 2, 0, 0, 0))
    return GOOD[:8] + head + GOOD[33:]


def text_bomb() -> bytes:
    packed = zlib.compress(b"A" * 60_000_000)
    return GOOD[:END] + chunk(b"zTXt", b"ccv3\0\0" + packed) + GOOD[END:]


DEEP = b'{"name":"x","first_mes":' + b"[" * 5_000 + b"]" * 5_000 + b"}"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bad_crc(), "checksum"),
        (GOOD[:200], "cut off"),
        (GOOD[:8] + b"\xff\xff\xff\xff" + GOOD[12:], "chunk of"),
        (huge_claim(), "pixels"),
        (text_bomb(), "unpacks to more"),
        (zipped({"card.json": encode(V3), "a": b"\0" * 10_000_000}), "times its size"),
        (zipped({"card.json": encode(V3), "../../etc/passwd": b"x"}), "leads out"),
        (zipped({"card.json": encode(V3), "/etc/passwd": b"x"}), "leads out"),
        (zipped({"card.json": encode(V3)}, flags=1), "encrypted"),
        (DEEP, "nested deeper"),
        (b'{"name":"x","first_mes":' + b"[" * 200_000, "nested|JSON"),
        (GOOD[:END] + chunk(b"tEXt", b"ccv3\0rcc||x") + GOOD[END:], "encrypted by Risu"),
        (GOOD[:END] + chunk(b"tEXt", b"ccv3\0*not base64*") + GOOD[END:], "damaged"),
    ],
)
def test_a_hostile_card_is_refused_with_a_hint(content: bytes, reason: str) -> None:
    with pytest.raises(Invalid, match=reason) as refused:
        read_card_file(content, "a.json", LIMITS)
    assert refused.value.hint


def test_each_limit_is_a_setting() -> None:
    small = ExchangeLimits(file_bytes_max=1_000)
    with pytest.raises(Invalid, match="1,000"):
        read_card_file(GOOD, "ada.png", small)
    with pytest.raises(Invalid, match="pixels"):
        read_card_file(GOOD, "ada.png", ExchangeLimits(pixels_max=100))
    with pytest.raises(Invalid, match="chunk"):
        read_card_file(GOOD, "ada.png", ExchangeLimits(chunk_bytes_max=1_000))
    with pytest.raises(Invalid, match="files"):
        ZipFiles(zipped({"a": b"1", "b": b"2"}), "x.zip", ExchangeLimits(files_max=1))
    with pytest.raises(Invalid, match="unpacks to"):
        ZipFiles(zipped({"a": b"1" * 2_000}), "x.zip", ExchangeLimits(total_bytes_max=1_000))


def test_a_file_without_a_name_in_a_zip_file_breaks_nothing() -> None:
    named = zipped({"a": b"1"})
    entry = named.rindex(b"PK\x01\x02")
    nameless = named[: entry + 28] + b"\0\0" + named[entry + 30 : entry + 46] + named[entry + 47 :]
    end = nameless.rindex(b"PK\x05\x06") + 12  # where the directory's length stands
    length = int.from_bytes(nameless[end : end + 4], "little") - 1
    try_everything(nameless[:end] + length.to_bytes(4, "little") + nameless[end + 4 :])


def test_a_folder_is_not_left_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "inside" / "card").write_text("y")
    assert list(FolderFiles(tmp_path / "inside", LIMITS).sizes) == ["card"]


def try_everything(content: bytes) -> None:
    """Whatever the bytes are, they are read or refused, and nothing else happens."""
    for name in ("a.json", "a.yaml"):
        try:
            source = source_of(content, name, LIMITS)
        except Rejected as refused:
            assert refused.hint  # noqa: PT017 - either outcome is fine
            continue
        try:
            if source.kind == "card":
                card_from_sheet(sheet_from_card(read_card_file(content, name, LIMITS).card))
            elif source.kind == "lorebook":
                write_book(read_book(decode_object(content, name, LIMITS), "b", name).book)
            elif source.kind == "chat":
                list(read_chat(content, name, LIMITS))
        except Rejected:
            pass


SEEDS = (
    GOOD,
    zipped({"card.json": encode(V3)}),
    encode(V2),
    encode(WORLD_INFO),
    encode(BOOK),
    chat_file(),
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SEEDS), st.integers(0, 10_000), st.binary(max_size=8), st.integers(0, 4))
def test_damaged_files_are_read_or_refused(seed: bytes, at: int, noise: bytes, cut: int) -> None:
    at %= len(seed)
    try_everything(seed[:at] + noise + seed[at + cut :])


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        "name",
        "data",
        "spec",
        "entries",
        "keys",
        "key",
        "content",
        "extensions",
        "mes",
        "is_user",
        "swipes",
        "swipe_id",
        "first_mes",
        "mes_example",
        "tags",
        "character_book",
        "send_date",
        "alternate_greetings",
        "extra",
        "personas",
        "persona_descriptions",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([V2, V3, WORLD_INFO, BOOK]), st.dictionaries(FIELDS, VALUES, max_size=4))
def test_odd_values_are_read_or_refused(seed: dict[str, object], odd: dict[str, object]) -> None:
    try_everything(encode({**seed, **odd}))
    try_everything(encode({**seed, "data": {**V3["data"], **odd}}))
    try_everything(encode(odd))
    picture = GOOD[:END] + chunk(b"tEXt", b"ccv3\0" + base64.b64encode(encode(odd))) + GOOD[END:]
    try_everything(picture)
