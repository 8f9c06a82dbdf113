"""What an export of another program holds, as far as an import needs it."""

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from everloop.thread.model.events import Attachment


class Beside(msgspec.Struct, frozen=True):
    """A file that stood beside a message, as far as an export tells.

    By its `file_id` or its name it is found in the export, by its `digest` among the files here; of
    some, an export has the `text` alone.
    """

    name: str
    file_id: str = ""
    media_type: str = ""
    text: str = ""
    digest: str = ""


class Said(msgspec.Struct, frozen=True):
    """A message as an export has it. With a `message_id`, it was exported from a log like this."""

    external_id: str
    role: str
    text: str
    at: str
    author: str = ""
    message_id: str = ""
    files: tuple[Beside, ...] = ()


Keep = Callable[[Beside], Attachment | None]  # takes a file in; None: it is missing


def keep_none(_: Beside) -> None:
    """What an import takes in that has no place for files."""
    return


class Chat(msgspec.Struct, frozen=True):
    """A conversation, or a part of one. `done` is how many bytes of the export were read."""

    external_id: str
    title: str
    messages: tuple[Said, ...]
    done: int = 0
    thread_id: str = ""


class Trouble(msgspec.Struct, frozen=True):
    """Something that was passed over: where, and why."""

    place: str
    problem: str


class Export(Protocol):
    """An export that can be read."""

    @property
    def kind(self) -> str:
        """Whose it is: claude, chatgpt, claude-code or jsonl."""
        ...

    @property
    def name(self) -> str:
        """What the file or folder is called."""
        ...

    @property
    def identity(self) -> str:
        """The same for the same export."""
        ...

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        ...

    def chats(self) -> Iterator[Chat | Trouble]:
        """What it holds, a part at a time.

        Raises:
            Invalid: it cannot be read any further; says where.
        """
        ...
