"""What stands beside messages, for a prompt: pictures as they are, text files in words, names else.

A file is given once, beside the newest message that has it. Text files share a budget, and a prompt
holds so many pictures and no more; of all others the model is told the name.
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
    """What a thread without a place for files fetches."""
    return


class Attached:
    """The attachments of the messages of one prompt, the newest message last."""

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
                    self._take(one, fetch)

    @property
    def picture_tokens(self) -> int:
        """What the pictures take, as models count them."""
        return len(self._pictures) * self._limits.picture

    def sections(self) -> list[Section]:
        """What is offered, the newest first to stay."""
        files = [self._piece(digest, text) for digest, text in self._texts.items()]
        pictures = [self._piece(digest, "[picture]") for digest in self._pictures]
        return [
            Section(FILES, "should", tuple(files), tokens_max=self._limits.files, stays=95),
            Section(PICTURES, "should", tuple(pictures), stays=94),
        ]

    def parts(self, message: threads.Message, kept: set[str]) -> Iterable[Part]:
        """What stands beside a message, of that which is in the prompt."""
        for one in message.attachments:
            ours = one.digest in kept and self._owner[one.digest] is message
            if ours and one.digest in self._pictures:
                yield self._pictures[one.digest]
            elif ours and one.digest in self._texts:
                yield Text(self._texts[one.digest])
            else:
                yield Text(named(one))

    def _take(self, one: Attachment, fetch: Fetch) -> None:
        picture = one.media_type.startswith("image/")
        if not (picture or one.media_type.startswith("text/")):
            return
        if picture and len(self._pictures) >= self._limits.pictures:
            return
        content = fetch(one)
        if content is not None and picture:
            self._pictures[one.digest] = Image(one.media_type, content)
        elif content is not None:
            self._texts[one.digest] = self._read(one, content)

    def _read(self, one: Attachment, content: bytes) -> str:
        """The words of a file, as many as one file may have."""
        most = self._limits.files // 2
        text = content[: most * 16].decode(errors="replace")  # no token is longer
        short = shortened(quoted(text), most)
        cut = "" if len(content) <= most * 16 and short == quoted(text) else ", cut"
        return f"[file {plain(one.name)}, {one.size:,} bytes{cut}]\n> {short}"

    def _piece(self, digest: str, text: str) -> Piece:
        owner = self._owner[digest]
        return Piece(digest, text, (owner.position,), priority=owner.position)


def named(one: Attachment) -> str:
    """A file by its name alone."""
    return f"[attached: {plain(one.name)}, {one.size:,} bytes]"


def name_tokens(message: threads.Message) -> str:
    """What a message takes besides its words, at most: the names of its files."""
    return "\n".join(named(one) for one in message.attachments)
