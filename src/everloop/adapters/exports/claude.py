"""Claude's data export: a list of conversations, each with its messages in order."""

from collections.abc import Iterator
from typing import Any

import msgspec

from everloop.adapters.exports.timestamps import to_utc_timestamp
from everloop.errors import Invalid
from everloop.thread.transfer.parsed_export import (
    ImportProblem,
    ParsedChat,
    ParsedFile,
    ParsedMessage,
)

KIND = "claude"
ROLES = {"human": "user", "assistant": "assistant"}


class _Message(msgspec.Struct):
    uuid: str
    sender: str = ""
    text: str | None = ""
    content: list[dict[str, Any]] | None = None
    created_at: str = ""
    attachments: list[dict[str, Any]] | None = None
    files: list[dict[str, Any]] | None = None


class _Conversation(msgspec.Struct):
    uuid: str
    name: str | None = ""
    chat_messages: list[_Message] = []


_decode = msgspec.json.Decoder(_Conversation).decode


def parse_conversation(
    element: bytes, place: str, done: int
) -> Iterator[ParsedChat | ImportProblem]:
    """Parse a conversation; problems come before it."""
    read = _decode(element)
    said: list[ParsedMessage] = []
    for number, message in enumerate(read.chat_messages, start=1):
        role, text, files = ROLES.get(message.sender), _text(message), _files(message)
        if role is None or not (text or files):
            continue
        try:
            at = to_utc_timestamp(message.created_at)
        except Invalid as problem:
            yield ImportProblem(f"{place}, message {number}", str(problem))
            continue
        author = "user" if role == "user" else KIND
        said.append(ParsedMessage(message.uuid, role, text, at, author, files=files))
    yield ParsedChat(read.uuid, read.name or "", tuple(said), done)


def _text(message: _Message) -> str:
    """The text of a message."""
    blocks = [
        str(block.get("text") or "")
        for block in message.content or ()
        if block.get("type") == "text"
    ]
    words = "\n\n".join(block for block in blocks if block.strip()) or message.text or ""
    return words.strip()


def _files(message: _Message) -> tuple[ParsedFile, ...]:
    """The attachments. The export has the text of documents, and only the name of images."""
    found: dict[str, ParsedFile] = {}
    for file in (*(message.attachments or ()), *(message.files or ())):
        name = str(file.get("file_name") or "")
        if name and name not in found:
            text = str(file.get("extracted_content") or "")
            found[name] = ParsedFile(name, str(file.get("file_uuid") or ""), text=text)
    return tuple(found.values())
