"""ChatGPT's data export: a list of conversations, each a tree of messages.

Only the path to the current message is imported. Other branches, tool calls with their results, and
hidden messages are skipped; images that a tool generated count as the assistant's.
"""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from everloop.adapters.exports.timestamps import to_utc_timestamp
from everloop.errors import Invalid
from everloop.thread.transfer.parsed_export import (
    ImportProblem,
    ParsedChat,
    ParsedFile,
    ParsedMessage,
)

KIND = "chatgpt"
ROLES = ("user", "assistant")
WORDS = ("text", "multimodal_text")
NAMELESS = "an image or a file"


class _Author(msgspec.Struct):
    role: str = ""


class _Content(msgspec.Struct):
    content_type: str = ""
    parts: list[Any] | None = None


class _Meta(msgspec.Struct):
    is_visually_hidden_from_conversation: bool | None = None
    model_slug: str | None = None
    attachments: list[dict[str, Any]] | None = None


class _Message(msgspec.Struct):
    id: str
    author: _Author = msgspec.field(default_factory=_Author)
    create_time: float | str | None = None
    content: _Content = msgspec.field(default_factory=_Content)
    recipient: str | None = "all"
    metadata: _Meta | None = None


class _Node(msgspec.Struct):
    message: _Message | None = None
    parent: str | None = None
    children: list[str] = []


class _Conversation(msgspec.Struct):
    mapping: dict[str, _Node] = {}
    conversation_id: str | None = None
    id: str | None = None
    title: str | None = ""
    create_time: float | str | None = None
    current_node: str | None = None


_decode = msgspec.json.Decoder(_Conversation).decode


def parse_conversation(
    element: bytes, place: str, done: int
) -> Iterator[ParsedChat | ImportProblem]:
    """Parse a conversation; problems come before it."""
    read = _decode(element)
    said: list[ParsedMessage] = []
    before = read.create_time  # some messages have no time of their own
    for number, message in enumerate(_path(read), start=1):
        text, files = _text(message), _files(message)
        if not (text or files):
            continue
        before = message.create_time or before
        try:
            at = to_utc_timestamp(before)
        except Invalid as problem:
            yield ImportProblem(f"{place}, message {number}", str(problem))
            continue
        role = "user" if message.author.role == "user" else "assistant"
        said.append(ParsedMessage(message.id, role, text, at, _author(message), files=files))
    named = read.conversation_id or read.id or (said[0].external_id if said else "")
    yield ParsedChat(named, read.title or "", tuple(said), done)


def _path(read: _Conversation) -> list[_Message]:
    """The messages from the first to the current one; safe against cycles."""
    at = read.current_node if read.current_node in read.mapping else _last_leaf(read)
    seen: dict[str, _Node] = {}
    while at is not None and at in read.mapping and at not in seen:
        seen[at] = read.mapping[at]
        at = read.mapping[at].parent
    return [node.message for node in reversed(seen.values()) if node.message is not None]


def _last_leaf(read: _Conversation) -> str | None:
    """The last leaf of the tree."""
    return next((key for key, node in reversed(read.mapping.items()) if not node.children), None)


def _text(message: _Message) -> str:
    if not _is_shown(message) or message.author.role not in ROLES:
        return ""
    return "\n".join(part for part in message.content.parts or () if isinstance(part, str)).strip()


def _is_shown(message: _Message) -> bool:
    hidden = message.metadata and message.metadata.is_visually_hidden_from_conversation
    spoken = message.content.content_type in WORDS and message.recipient in ("all", None)
    return spoken and not hidden


def _files(message: _Message) -> tuple[ParsedFile, ...]:
    """The images, audio and attachments of a message, without duplicates."""
    if not _is_shown(message) or message.author.role not in (*ROLES, "tool"):
        return ()
    found: dict[str, ParsedFile] = {}
    for file in (message.metadata.attachments if message.metadata else None) or ():
        key, name = str(file.get("id") or ""), str(file.get("name") or "")
        kind = str(file.get("mime_type") or file.get("mimeType") or "")
        found[key or name] = ParsedFile(name or key, key, kind)
    for part in message.content.parts or ():
        if isinstance(part, dict):
            key = _file_id(cast("dict[str, Any]", part))
            found.setdefault(key, ParsedFile(key or NAMELESS, key))
    return tuple(found.values())


def _file_id(part: dict[str, Any]) -> str:
    """The file id that a part points to: `file-service://file-X` or `sediment://file_X`."""
    inner = part.get("audio_asset_pointer")
    pointer = part.get("asset_pointer") or (
        cast("dict[str, Any]", inner).get("asset_pointer") if isinstance(inner, dict) else ""
    )
    return str(pointer or "").partition("://")[2].partition("#")[0].partition("?")[0]


def _author(message: _Message) -> str:
    if message.author.role == "user":
        return "user"
    return (message.metadata.model_slug if message.metadata else None) or KIND
