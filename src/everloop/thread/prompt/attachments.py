"""Attachments in a prompt: images as images, text files as text, all others by name.

A file is included once, with the newest message that has it. Text files share a token budget, and
the number of images is limited; files beyond these limits are only named.
"""

from collections.abc import Callable, Iterable, Sequence

from everloop.memory.context import Piece, Section
from everloop.ports import Image, Part, Text
from everloop.thread.model.events import Attachment
from everloop.thread.queries import threads
from everloop.thread.quoting import plain, quoted, shortened
from everloop.thread.settings import ContextLimits

FILES = "files"
PICTURES = "pictures"

Fetch = Callable[[Attachment], bytes | None]


def no_file(_: Attachment) -> None:
    """Fetch nothing: for a thread without a file store."""
    return


class Attached:
    """The attachments of a prompt's messages, which are ordered from oldest to newest."""

    def __init__(
        self, said: Sequence[threads.Message], fetch: Fetch, limits: ContextLimits
    ) -> None:
        self._limits = limits
        self._texts: dict[str, str] = {}
        self._pictures: dict[str, Image] = {}
        self._owner: dict[str, threads.Message] = {}
        for message in reversed(said):
            for one in message.attachments:
                if one.digest not in self._owner:
                    self._owner[one.digest] = message
                    self._load(one, fetch)

    @property
    def picture_tokens(self) -> int:
        """The token cost of the images, as models count them."""
        return len(self._pictures) * self._limits.picture

    def sections(self) -> list[Section]:
        """Prompt sections of files and images; the newest have priority."""
        files = [self._piece(digest, text) for digest, text in self._texts.items()]
        pictures = [self._piece(digest, "[picture]") for digest in self._pictures]
        return [
            Section(FILES, "should", tuple(files), tokens_max=self._limits.files, stays=95),
            Section(PICTURES, "should", tuple(pictures), stays=94),
        ]

    def parts(self, message: threads.Message, kept: set[str]) -> Iterable[Part]:
        """The prompt parts of a message's attachments; those not in `kept` are only named."""
        for one in message.attachments:
            ours = one.digest in kept and self._owner[one.digest] is message
            if ours and one.digest in self._pictures:
                yield self._pictures[one.digest]
            elif ours and one.digest in self._texts:
                yield Text(self._texts[one.digest])
            else:
                yield Text(named(one))

    def _load(self, one: Attachment, fetch: Fetch) -> None:
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
        short = shortened(quoted(text), most)
        cut = "" if len(content) <= most * 16 and short == quoted(text) else ", cut"
        return f"[file {plain(one.name)}, {one.size:,} bytes{cut}]\n> {short}"

    def _piece(self, digest: str, text: str) -> Piece:
        owner = self._owner[digest]
        return Piece(digest, text, (owner.position,), priority=owner.position)


def named(one: Attachment) -> str:
    """A placeholder line with the name and size of a file."""
    return f"[attached: {plain(one.name)}, {one.size:,} bytes]"


def name_tokens(message: threads.Message) -> str:
    """The placeholder lines of a message's files, to count their tokens."""
    return "\n".join(named(one) for one in message.attachments)
