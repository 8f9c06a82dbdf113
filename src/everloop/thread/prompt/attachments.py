"""Attachments in a prompt: images as images, text files as text, all others by name.

A file is included once, with the newest message that has it. Text files share a token budget, and
the number of images is limited; files beyond these limits are only named.
"""

from collections.abc import Callable, Iterable, Sequence

from everloop.memory.context import PromptPiece, PromptSection
from everloop.ports import Image, Part, Text
from everloop.thread.model.events import Attachment
from everloop.thread.queries import threads
from everloop.thread.quoting import collapse_whitespace, quote, truncate_to_tokens
from everloop.thread.settings import ContextLimits

FILES = "files"
PICTURES = "pictures"

FetchFile = Callable[[Attachment], bytes | None]


def fetch_no_file(_: Attachment) -> None:
    """Fetch nothing: for a thread without a file store."""
    return


class PromptAttachments:
    """The attachments of a prompt's messages, which are ordered from oldest to newest."""

    def __init__(
        self, said: Sequence[threads.ThreadMessage], fetch: FetchFile, limits: ContextLimits
    ) -> None:
        self._limits = limits
        self._texts: dict[str, str] = {}
        self._pictures: dict[str, Image] = {}
        self._owner: dict[str, threads.ThreadMessage] = {}
        for message in reversed(said):
            for one in message.attachments:
                if one.digest not in self._owner:
                    self._owner[one.digest] = message
                    self._load(one, fetch)

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
                yield Text(file_placeholder(one))

    def _load(self, one: Attachment, fetch: FetchFile) -> None:
        picture = one.media_type.startswith("image/")
        if not (picture or one.media_type.startswith("text/")):
            return
        if picture and len(self._pictures) >= self._limits.pictures:
            return
        content = fetch(one)
        if content is not None and picture:
            self._pictures[one.digest] = Image(one.media_type, content)
        elif content is not None:
            self._texts[one.digest] = self._file_text(one, content)

    def _file_text(self, one: Attachment, content: bytes) -> str:
        """The text of a file, truncated to the limit for one file."""
        most = self._limits.files // 2
        text = content[: most * 16].decode(errors="replace")  # no token is longer than 16 bytes
        short = truncate_to_tokens(quote(text), most)
        cut = "" if len(content) <= most * 16 and short == quote(text) else ", cut"
        return f"[file {collapse_whitespace(one.name)}, {one.size:,} bytes{cut}]\n> {short}"

    def _piece(self, digest: str, text: str) -> PromptPiece:
        owner = self._owner[digest]
        return PromptPiece(digest, text, (owner.position,), priority=owner.position)


def file_placeholder(one: Attachment) -> str:
    """A placeholder line with the name and size of a file."""
    return f"[attached: {collapse_whitespace(one.name)}, {one.size:,} bytes]"


def file_placeholders(message: threads.ThreadMessage) -> str:
    """The placeholder lines of a message's files, to count their tokens."""
    return "\n".join(file_placeholder(one) for one in message.attachments)
