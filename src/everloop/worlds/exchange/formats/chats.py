"""Chats of SillyTavern (JSON Lines): read tolerantly, line by line, and written back equal.

Each message keeps its JSON without the texts, which the world has; on the way out they are put back
where they were, with what was edited, hidden or chosen since.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

from everloop.errors import Invalid
from everloop.worlds.exchange.formats.chat_dates import parse_send_date
from everloop.worlds.exchange.formats.json_text import (
    BOM,
    JsonObject,
    as_int,
    as_list,
    as_object,
    as_text,
    as_texts,
    decode_json,
    encode_json,
)
from everloop.worlds.exchange.settings import ExchangeLimits

_TEXT_KEYS: Final = ("mes", "swipes", "swipe_id", "is_system")
UNUSED: Final = "unused"  # what newer headers say instead of names


class ChatLine(msgspec.Struct, frozen=True):
    """A message of a chat; `swipes` are its versions, `source` its JSON without the texts."""

    number: int
    name: str
    is_user: bool
    text: str
    swipes: tuple[str, ...]
    chosen: int
    hidden: bool
    said_at: datetime | None
    avatar: str
    present: tuple[str, ...]
    source: str


class BadLine(msgspec.Struct, frozen=True):
    """A line that cannot be read, and why."""

    number: int
    problem: str


class ChatHeader(msgspec.Struct, frozen=True):
    """The first line of a chat; empty where a chat begins with a message."""

    raw: JsonObject = {}

    @property
    def metadata(self) -> JsonObject:
        """What the chat itself is told: scenario, persona, lorebook, parent."""
        return as_object(self.raw.get("chat_metadata"))

    @property
    def user_name(self) -> str:
        """The player's name, in older chats."""
        return _used(self.raw.get("user_name"))

    @property
    def character_name(self) -> str:
        """The character's name, in older chats."""
        return _used(self.raw.get("character_name"))


def write_lines(header: JsonObject, messages: list[JsonObject]) -> bytes:
    """A chat as JSON Lines; without a header if there is none."""
    lines = [header, *messages] if header else messages
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def is_chat(content: bytes) -> bool:
    """Whether a file begins like a chat."""
    first = content.removeprefix(BOM).lstrip()[:200_000].partition(b"\n")[0]
    try:
        value: object = msgspec.json.decode(first)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    keys = as_object(value).keys()
    return bool({"mes", "is_user"} <= keys or "chat_metadata" in keys or "user_name" in keys)


def read_chat(
    content: bytes, name: str, limits: ExchangeLimits
) -> Iterator[ChatHeader | ChatLine | BadLine]:
    """The header of a chat, then its messages and what cannot be read, in order.

    Raises:
        Invalid: it is too large.
    """
    if len(content) > limits.file_bytes_max:
        raise Invalid(
            f"{name!r} has {len(content):,} bytes, more than {limits.file_bytes_max:,}",
            hint="The setting exchange.file_bytes_max allows larger files.",
        )
    header: ChatHeader | None = None
    for number, line in enumerate(content.removeprefix(BOM).splitlines(), start=1):
        if not line.strip():
            continue
        value = _read_line(line, number, name, limits)
        if header is None:
            is_header = isinstance(value, dict) and "mes" not in value
            header = ChatHeader(value if isinstance(value, dict) and is_header else {})
            yield header
            if is_header:
                continue
        yield value if isinstance(value, BadLine) else read_message(value, number)


def read_message(raw: JsonObject, number: int) -> ChatLine | BadLine:
    """A message from its JSON."""
    if "mes" not in raw:
        return BadLine(number, "it has no message")
    text = _message_text(raw["mes"])
    swipes = tuple(_message_text(one) for one in as_list(raw.get("swipes")))
    chosen = as_int(raw.get("swipe_id"), 0)
    if swipes and not (0 <= chosen < len(swipes) and swipes[chosen] == text):
        chosen = swipes.index(text) if text in swipes else -1
    extra = as_object(raw.get("extra"))
    exact = chosen >= 0 and _is_exact(raw, text, swipes, chosen)
    source = {key: None if exact and key in _TEXT_KEYS else raw[key] for key in raw}
    return ChatLine(
        number,
        as_text(raw.get("name")),
        raw.get("is_user") is True,
        text,
        swipes if chosen >= 0 else (),
        max(chosen, 0),
        raw.get("is_system") is True,
        parse_send_date(raw.get("send_date")),
        as_text(raw.get("original_avatar")) or as_text(raw.get("force_avatar")),
        as_texts(extra.get("present")),
        encode_json(source),
    )


class WrittenLine(msgspec.Struct, frozen=True):
    """A message as the world has it now, to be written into a chat."""

    name: str
    is_user: bool
    text: str
    versions: tuple[str, ...]
    chosen: int
    hidden: bool
    said_at: str
    edited: bool = False


def write_message(line: WrittenLine, source: str) -> JsonObject:
    """The JSON of a message: its source with the texts of the world, or a new one."""
    if not source:
        new: JsonObject = {
            "name": line.name,
            "is_user": line.is_user,
            "is_system": line.hidden,
            "send_date": line.said_at,
            "mes": line.text,
            "extra": {},
        }
        if line.versions:
            new |= {"swipe_id": line.chosen, "swipes": list(line.versions)}
        return new
    raw: JsonObject = msgspec.json.decode(source)
    texts: JsonObject = {
        "mes": line.text,
        "swipes": _versions(line),
        "swipe_id": line.chosen,
        "is_system": line.hidden,
    }
    if raw.get("mes") is None:
        return {key: texts[key] if key in _TEXT_KEYS else raw[key] for key in raw}
    if line.edited:  # else kept as it was, because the world has another text
        raw["mes"] = line.text
    if isinstance(raw.get("is_system"), bool):
        raw["is_system"] = line.hidden
    return raw


def _versions(line: WrittenLine) -> list[str]:
    versions = list(line.versions)
    if line.edited and 0 <= line.chosen < len(versions):
        versions[line.chosen] = line.text
    return versions


def _is_exact(raw: JsonObject, text: str, swipes: tuple[str, ...], chosen: int) -> bool:
    """Whether the texts of the world are enough to write the message back as it was."""
    return (
        raw["mes"] == text
        and ("swipes" not in raw or (bool(swipes) and raw["swipes"] == list(swipes)))
        and ("swipe_id" not in raw or ("swipes" in raw and raw["swipe_id"] == chosen))
        and ("is_system" not in raw or isinstance(raw["is_system"], bool))
    )


def _read_line(line: bytes, number: int, name: str, limits: ExchangeLimits) -> JsonObject | BadLine:
    if len(line) > limits.line_bytes_max:
        return BadLine(number, f"it is longer than {limits.line_bytes_max:,} bytes")
    try:
        value = decode_json(line, name, limits)
    except Invalid as problem:
        return BadLine(number, str(problem))
    return as_object(value) or BadLine(number, "it is no object, or an empty one")


def _message_text(value: object) -> str:
    """A text; chats of Chub have objects with a `message`."""
    return value if isinstance(value, str) else as_text(as_object(value).get("message"))


def _used(name: object) -> str:
    return "" if name == UNUSED else as_text(name)
