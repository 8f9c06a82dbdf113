"""Attachments in a prompt: images as images, documents and text files as text, others by name.

A file is included once, with the newest message that has it. Texts share a token budget, and the
number of images is limited; files beyond these limits are only named. Of a file that cannot be
read, the model is told why.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from everloop.memory.context import PromptPiece, PromptSection
from everloop.ports import Image, Part, Text
from everloop.thread.model.events import Attachment
from everloop.thread.queries import threads
from everloop.thread.quoting import collapse_whitespace, quote, truncate_to_tokens
from everloop.thread.settings import ContextLimits

FILES = "files"
PICTURES = "pictures"

READ_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")  # what models take


class FileText(msgspec.Struct, frozen=True):
    """The text of a file, or the problem that it has; `cut` if it is longer than the limit."""

    text: str = ""
    cut: bool = False
    problem: str = ""


class AttachedFiles(Protocol):
    """What a prompt needs of attached files."""

    def read(self, one: Attachment) -> bytes | None:
        """The bytes of a file; None if it is gone."""
        ...

    def text(self, one: Attachment) -> FileText:
        """The text of a file that is not an image, or why it has none."""
        ...


class NoFiles:
    """No files: for a thread without a file store."""

    def read(self, one: Attachment) -> bytes | None:
        """Nothing."""
        del one
        return None

    def text(self, one: Attachment) -> FileText:
        """Nothing."""
        del one
        return FileText()


def is_picture(one: Attachment) -> bool:
    """Whether models can be given a file as an image."""
    return one.media_type in READ_PICTURES


class PromptAttachments:
    """The attachments of a prompt's messages, which are ordered from oldest to newest."""

    def __init__(
        self, said: Sequence[threads.ThreadMessage], files: AttachedFiles, limits: ContextLimits
    ) -> None:
        self._limits, self._files = limits, files
        self._problems: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._pictures: dict[str, Image] = {}
        self._owner: dict[str, threads.ThreadMessage] = {}
        for message in reversed(said):
            for one in message.attachments:
                if one.digest not in self._owner:
                    self._owner[one.digest] = message
                    self._load(one)

    @property
    def image_tokens(self) -> int:
        """The token cost of the images, as models count them."""
        return len(self._pictures) * self._limits.picture

    def sections(self) -> list[PromptSection]:
        """Prompt sections of files and images; the newest have priority."""
        files = [self._piece(digest, text) for digest, text in self._texts.items()]
        pictures = [self._piece(digest, "[picture]") for digest in self._pictures]
        return [
            PromptSection(FILES, "should", tuple(files), tokens_max=self._limits.files, stays=95),
            PromptSection(PICTURES, "should", tuple(pictures), stays=94),
        ]

    def parts(self, message: threads.ThreadMessage, kept: set[str]) -> Iterable[Part]:
        """The prompt parts of a message's attachments; those not in `kept` are only named."""
        for one in message.attachments:
            ours = one.digest in kept and self._owner[one.digest] is message
            if ours and one.digest in self._pictures:
                yield self._pictures[one.digest]
            elif ours and one.digest in self._texts:
                yield Text(self._texts[one.digest])
            else:
                problem = self._problems.get(one.digest, "")
                yield Text(
                    file_placeholder(one, f"could not be read: {problem}" if problem else "")
                )

    def _load(self, one: Attachment) -> None:
        if not is_picture(one):
            found = self._files.text(one)
            if found.text:
                self._texts[one.digest] = self._file_text(one, found)
            self._problems[one.digest] = found.problem
        elif len(self._pictures) < self._limits.pictures:
            content = self._files.read(one)
            if content is not None:
                self._pictures[one.digest] = Image(one.media_type, content)

    def _file_text(self, one: Attachment, found: FileText) -> str:
        """The text of a file, truncated to the limit for one file."""
        most = self._limits.files // 2
        text = quote(found.text[: most * 16])  # no token is longer than 16 characters
        short = truncate_to_tokens(text, most)
        whole = not found.cut and len(found.text) <= most * 16 and short == text
        cut = "" if whole else ", cut"
        return f"[file {collapse_whitespace(one.name)}, {one.size:,} bytes{cut}]\n> {short}"

    def _piece(self, digest: str, text: str) -> PromptPiece:
        owner = self._owner[digest]
        return PromptPiece(digest, text, (owner.position,), priority=owner.position)


def file_placeholder(one: Attachment, note: str = "") -> str:
    """A placeholder line with the name and size of a file."""
    more = f", {note}" if note else ""
    return f"[attached: {collapse_whitespace(one.name)}, {one.size:,} bytes{more}]"


def file_placeholders(message: threads.ThreadMessage) -> str:
    """The placeholder lines of a message's files, to count their tokens."""
    return "\n".join(file_placeholder(one) for one in message.attachments)
