"""Parsed form of another program's export: conversations, messages, files and problems."""

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from everloop.thread.model.events import Attachment


class ParsedFile(msgspec.Struct, frozen=True):
    """An attachment of a message, as an export describes it.

    Its content is found in the export by `file_id` or name, or in the file store by `digest`; for
    some files, an export has only the extracted `text`.
    """

    name: str
    file_id: str = ""
    media_type: str = ""
    text: str = ""
    digest: str = ""


class ParsedMessage(msgspec.Struct, frozen=True):
    """A message of an export. With a `message_id`, it was exported from Everloop."""

    external_id: str
    role: str
    text: str
    at: str
    author: str = ""
    message_id: str = ""
    files: tuple[ParsedFile, ...] = ()


StoreFile = Callable[[ParsedFile], Attachment | None]  # stores a file; None: it is missing


def store_no_file(_: ParsedFile) -> None:
    """Store no file: for an import without a file store."""
    return


class ParsedChat(msgspec.Struct, frozen=True):
    """A conversation or a part of one. `done` is the number of bytes read so far."""

    external_id: str
    title: str
    messages: tuple[ParsedMessage, ...]
    done: int = 0
    thread_id: str = ""


class ImportProblem(msgspec.Struct, frozen=True):
    """Something that was skipped: where, and why."""

    place: str
    problem: str


class ParsedExport(Protocol):
    """A readable export of another program."""

    @property
    def kind(self) -> str:
        """Its format: claude, chatgpt, claude-code or jsonl."""
        ...

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        ...

    @property
    def identity(self) -> str:
        """A fingerprint: the same for the same export."""
        ...

    @property
    def size(self) -> int:
        """The total number of bytes to read."""
        ...

    def chats(self) -> Iterator[ParsedChat | ImportProblem]:
        """The conversations and problems, one at a time.

        Raises:
            Invalid: it cannot be read any further; the message says where.
        """
        ...
