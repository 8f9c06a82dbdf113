"""Conversations in JSON Lines: Claude Code transcripts, and Everloop's own export format.

A line of our format has `role`, `text` and the time `at`, and optionally `thread`, `title`, `id`. A
line is identified by a digest of its content, unless its id is one of ours.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

import msgspec

from everloop.adapters.capture.transcript import TranscriptMessage, parse_transcript_line
from everloop.adapters.exports.timestamps import to_utc_timestamp
from everloop.errors import Invalid
from everloop.thread.model.commands import HOME
from everloop.thread.model.events import Attachment
from everloop.thread.transfer.parsed_export import (
    ImportProblem,
    ParsedChat,
    ParsedFile,
    ParsedMessage,
)

CLAUDE_CODE: Final = "claude-code"
JSONL: Final = "jsonl"
TITLE: Final = 80
OURS: Final = re.compile(r"msg-[A-Za-z0-9_-]{1,100}")
OUR_THREAD: Final = re.compile(rf"{HOME}|thr-[A-Za-z0-9_-]{{1,100}}")


class PartContext(NamedTuple):
    """A file of an export: its name, the bytes before it, and limits."""

    name: str
    before: int
    line_bytes_max: int
    batch: int


class _Line(msgspec.Struct):
    role: str
    text: str
    at: str | float
    thread: str = ""
    title: str = ""
    id: str = ""
    author: str = ""
    attachments: list[Attachment] = []


_decode = msgspec.json.Decoder(_Line).decode


def parse_transcript(file: IO[bytes], place: PartContext) -> Iterator[ParsedChat | ImportProblem]:
    """Parse a Claude Code transcript, in batches of messages."""
    held = _Batcher(place.batch)
    for number, end, line in _lines(file, place):
        try:
            said = parse_transcript_line(line)
            if said is None or said.kind == "interrupt" or not said.text:
                continue
            message = ParsedMessage(
                said.turn_id, said.kind, said.text, to_utc_timestamp(said.at), _author(said)
            )
        except Invalid as problem:
            yield ImportProblem(f"{place.name}, line {number}", str(problem))
            continue
        yield from held.add((said.session, _title(said), ""), message, place.before + end)
    yield from held.rest()


def parse_jsonl(file: IO[bytes], place: PartContext) -> Iterator[ParsedChat | ImportProblem]:
    """Parse our own format, in batches of messages."""
    held, said = _Batcher(place.batch), dict[str, int]()
    for number, end, line in _lines(file, place):
        try:
            read = _decode(line)
            message = _to_message(read, said)
        except (Invalid, msgspec.MsgspecError, ValueError, RecursionError) as problem:
            yield ImportProblem(f"{place.name}, line {number}", str(problem))
            continue
        if message is not None:
            named = read.thread or place.name
            ours = named if OUR_THREAD.fullmatch(named) else ""
            chat = (named, read.title or read.thread or place.name, ours)
            yield from held.add(chat, message, place.before + end)
    yield from held.rest()


def is_transcript(line: bytes) -> bool:
    """Whether a first line is from Claude Code rather than in our own format."""
    try:
        _decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return True
    return False


class _Batcher:
    """Collects messages of a conversation into batches."""

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._chat = ("", "", "")
        self._titles: dict[str, str] = {}
        self._messages: list[ParsedMessage] = []
        self._done = 0

    def add(
        self, chat: tuple[str, str, str], message: ParsedMessage, done: int
    ) -> Iterator[ParsedChat]:
        named, heading, ours = chat
        title = self._titles.setdefault(named, heading)
        if self._messages and (self._chat[0] != named or len(self._messages) >= self._batch):
            yield from self.rest()
        self._chat, self._done = (named, title, ours), done
        self._messages.append(message)

    def rest(self) -> Iterator[ParsedChat]:
        if self._messages:
            named, title, ours = self._chat
            yield ParsedChat(named, title, tuple(self._messages), self._done, ours)
            self._messages = []


def _lines(file: IO[bytes], place: PartContext) -> Iterator[tuple[int, int, bytes]]:
    """Each line with its number and end offset.

    Raises:
        Invalid: a line is too long.
    """
    number = end = 0
    while line := file.readline(place.line_bytes_max):
        number, end = number + 1, end + len(line)
        if len(line) == place.line_bytes_max:
            raise Invalid(
                f"{place.name}, line {number}: longer than {place.line_bytes_max:,} bytes",
                hint="Raise `thread.imports.conversation_bytes_max` to import it.",
            )
        if line.strip():
            yield number, end, line


def _to_message(read: _Line, known: dict[str, int]) -> ParsedMessage | None:
    if read.role not in ("user", "assistant"):
        raise Invalid(f"{read.role!r} is not a role")
    at = to_utc_timestamp(read.at)
    if not (read.text.strip() or read.attachments):
        return None
    author = read.author or ("user" if read.role == "user" else JSONL)
    ours = read.id if OURS.fullmatch(read.id) else ""
    files = tuple(
        ParsedFile(one.name, media_type=one.media_type, digest=one.digest)
        for one in read.attachments
    )
    external = ours or _content_id(read, at, known)
    return ParsedMessage(external, read.role, read.text, at, author, ours, files)


def _content_id(read: _Line, at: str, known: dict[str, int]) -> str:
    """An id from the content, as foreign ids may clash; repeated lines are numbered."""
    whole = "\0".join((read.thread, read.id, read.role, at, read.text))
    digest = hashlib.sha256(whole.encode()).hexdigest()[:32]
    known[digest] = known.get(digest, 0) + 1
    return f"{digest}-{known[digest]}"


def _author(said: TranscriptMessage) -> str:
    return "user" if said.kind == "user" else CLAUDE_CODE


def _title(said: TranscriptMessage) -> str:
    words = " ".join(said.text.split())
    short = words if len(words) <= TITLE else f"{words[: TITLE - 1]}…"
    return f"{said.folder}: {short}" if said.folder else short
