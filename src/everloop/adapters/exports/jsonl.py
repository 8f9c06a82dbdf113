"""Conversations as lines of JSON: Claude Code's transcripts, and the plain form that we write too.

A plain line has a `role`, a `text` and a time `at`; if it has them, a `thread`, a `title` and an
`id`. It is known by all that it says, unless its id is one of ours.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

import msgspec

from everloop.adapters.capture.transcript import Spoken, spoken
from everloop.adapters.exports.timestamps import at_moment
from everloop.errors import Invalid
from everloop.thread.model.commands import HOME
from everloop.thread.model.events import Attachment
from everloop.thread.transfer.parsed_export import Beside, Chat, Said, Trouble

CLAUDE_CODE: Final = "claude-code"
JSONL: Final = "jsonl"
TITLE: Final = 80
OURS: Final = re.compile(r"msg-[A-Za-z0-9_-]{1,100}")
OUR_THREAD: Final = re.compile(rf"{HOME}|thr-[A-Za-z0-9_-]{{1,100}}")


class Place(NamedTuple):
    """Where a file stands in its export: its name, what comes before it, and how to read on."""

    name: str
    before: int
    line_bytes_max: int
    batch: int


class _Plain(msgspec.Struct):
    role: str
    text: str
    at: str | float
    thread: str = ""
    title: str = ""
    id: str = ""
    author: str = ""
    attachments: list[Attachment] = []


_read = msgspec.json.Decoder(_Plain).decode


def transcript(file: IO[bytes], place: Place) -> Iterator[Chat | Trouble]:
    """One session of Claude Code, some messages at a time."""
    held = _Held(place.batch)
    for number, end, line in _lines(file, place):
        try:
            said = spoken(line)
            if said is None or said.kind == "interrupt" or not said.text:
                continue
            message = Said(said.turn_id, said.kind, said.text, at_moment(said.at), _speaker(said))
        except Invalid as problem:
            yield Trouble(f"{place.name}, line {number}", str(problem))
            continue
        yield from held.add((said.session, _heading(said), ""), message, place.before + end)
    yield from held.rest()


def plain(file: IO[bytes], place: Place) -> Iterator[Chat | Trouble]:
    """Plain lines, some messages at a time."""
    held, said = _Held(place.batch), dict[str, int]()
    for number, end, line in _lines(file, place):
        try:
            read = _read(line)
            message = _said(read, said)
        except (Invalid, msgspec.MsgspecError, ValueError, RecursionError) as problem:
            yield Trouble(f"{place.name}, line {number}", str(problem))
            continue
        if message is not None:
            named = read.thread or place.name
            ours = named if OUR_THREAD.fullmatch(named) else ""
            chat = (named, read.title or read.thread or place.name, ours)
            yield from held.add(chat, message, place.before + end)
    yield from held.rest()


def is_transcript(line: bytes) -> bool:
    """Whether a first line is one of Claude Code's, and no plain one."""
    try:
        _read(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return True
    return False


class _Held:
    """Messages of one conversation after another, until there are enough of them."""

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._chat = ("", "", "")
        self._titles: dict[str, str] = {}
        self._messages: list[Said] = []
        self._done = 0

    def add(self, chat: tuple[str, str, str], message: Said, done: int) -> Iterator[Chat]:
        named, heading, ours = chat
        title = self._titles.setdefault(named, heading)
        if self._messages and (self._chat[0] != named or len(self._messages) >= self._batch):
            yield from self.rest()
        self._chat, self._done = (named, title, ours), done
        self._messages.append(message)

    def rest(self) -> Iterator[Chat]:
        if self._messages:
            named, title, ours = self._chat
            yield Chat(named, title, tuple(self._messages), self._done, ours)
            self._messages = []


def _lines(file: IO[bytes], place: Place) -> Iterator[tuple[int, int, bytes]]:
    """Each line with its number and the byte at which it ends.

    Raises:
        Invalid: one is too long.
    """
    number = end = 0
    while line := file.readline(place.line_bytes_max):
        number, end = number + 1, end + len(line)
        if len(line) == place.line_bytes_max:
            raise Invalid(
                f"{place.name}, line {number}: it has more than {place.line_bytes_max:,} bytes",
                hint="Raise `thread.imports.conversation_bytes_max` if it matters.",
            )
        if line.strip():
            yield number, end, line


def _said(read: _Plain, known: dict[str, int]) -> Said | None:
    if read.role not in ("user", "assistant"):
        raise Invalid(f"{read.role!r} is no role")
    at = at_moment(read.at)
    if not (read.text.strip() or read.attachments):
        return None
    author = read.author or ("user" if read.role == "user" else JSONL)
    ours = read.id if OURS.fullmatch(read.id) else ""
    files = tuple(
        Beside(one.name, media_type=one.media_type, digest=one.digest) for one in read.attachments
    )
    external = ours or _known_by(read, at, known)
    return Said(external, read.role, read.text, at, author, ours, files)


def _known_by(read: _Plain, at: str, known: dict[str, int]) -> str:
    """A name for a line: ids may be anybody's, so all of it counts. Said twice is two messages."""
    whole = "\0".join((read.thread, read.id, read.role, at, read.text))
    digest = hashlib.sha256(whole.encode()).hexdigest()[:32]
    known[digest] = known.get(digest, 0) + 1
    return f"{digest}-{known[digest]}"


def _speaker(said: Spoken) -> str:
    return "user" if said.kind == "user" else CLAUDE_CODE


def _heading(said: Spoken) -> str:
    words = " ".join(said.text.split())
    short = words if len(words) <= TITLE else f"{words[: TITLE - 1]}…"
    return f"{said.folder}: {short}" if said.folder else short
