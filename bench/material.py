"""What the measures write and fold: one kind of event, one fold, three views, texts that vary."""

from collections.abc import Iterator
from functools import cache
from itertools import cycle
from typing import ClassVar

import apsw
import msgspec

from everloop.log import Event, Fact, Fold, Projection, event, on

STREAM = "thread:home"
ACTOR = "user"
SENTENCE = 24  # words in a text
MESSAGES = 4_000  # different ones, over and over
VOCABULARY = 2_731  # fewer than three syllables can name; a prime, so that strides mix well

_SYLLABLES = ("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo")


@event("bench.message_sent")
class MessageSent(Event, frozen=True):
    """Someone said something: about 400 bytes of JSON, as the events of a thread will be."""

    message_id: str
    author: str
    device: str
    text: str
    words: int
    in_reply_to: int
    mentions: tuple[str, ...]


class Tally(msgspec.Struct, frozen=True):
    """What a conversation came to."""

    messages: int
    words: int
    newest: str


def evolve(tally: Tally | None, fact: Fact) -> Tally:
    """The tally after one more message."""
    said = fact.event
    if tally is None:
        tally = Tally(0, 0, "")
    if isinstance(said, MessageSent):
        return Tally(tally.messages + 1, tally.words + said.words, said.message_id)
    return tally


FOLD = Fold("bench.tally", Tally, evolve)


class Transcript(Projection):
    """Who said what."""

    name = "bench_transcript"
    tables: ClassVar[tuple[str, ...]] = ("bench_transcript",)
    schema = """
    CREATE TABLE bench_transcript (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        author   TEXT NOT NULL,
        text     TEXT NOT NULL
    ) STRICT
    """

    @on(MessageSent)
    def _sent(self, db: apsw.Connection, said: MessageSent, fact: Fact) -> None:
        db.execute(
            "INSERT INTO bench_transcript VALUES (?, ?, ?, ?)",
            (fact.position, fact.branch, said.author, said.text),
        )


class Words(Projection):
    """The full-text index over the transcript, which holds the texts."""

    name = "bench_words"
    tables: ClassVar[tuple[str, ...]] = ("bench_words",)
    schema = """
    CREATE VIRTUAL TABLE bench_words USING fts5 (
        text, content = 'bench_transcript', content_rowid = 'position'
    )
    """

    @on(MessageSent)
    def _sent(self, db: apsw.Connection, said: MessageSent, fact: Fact) -> None:
        db.execute(
            "INSERT INTO bench_words (rowid, text) VALUES (?, ?)", (fact.position, said.text)
        )


class Lengths(Projection):
    """How long messages are, found by author and length."""

    name = "bench_lengths"
    tables: ClassVar[tuple[str, ...]] = ("bench_lengths",)
    schema = """
    CREATE TABLE bench_lengths (
        author   TEXT NOT NULL,
        words    INTEGER NOT NULL,
        position INTEGER NOT NULL,
        branch   TEXT NOT NULL,
        PRIMARY KEY (author, words, position)
    ) STRICT, WITHOUT ROWID
    """

    @on(MessageSent)
    def _sent(self, db: apsw.Connection, said: MessageSent, fact: Fact) -> None:
        db.execute(
            "INSERT INTO bench_lengths VALUES (?, ?, ?, ?)",
            (said.author, said.words, fact.position, fact.branch),
        )


VIEWS: tuple[type[Projection], ...] = (Transcript, Words, Lengths)


def messages() -> Iterator[MessageSent]:
    """Messages without end. They are made beforehand, so that no side pays for making them."""
    return cycle(_conversation())


@cache
def _conversation() -> tuple[MessageSent, ...]:
    words = [_word(number) for number in range(VOCABULARY)]
    return tuple(
        MessageSent(
            message_id=f"message-{number:016x}",
            author=ACTOR,
            device="browser",
            text=" ".join(words[(number + step * stride) % VOCABULARY] for step in range(SENTENCE)),
            words=SENTENCE,
            in_reply_to=number,
            mentions=("agent:scribe", f"memory:{number}"),
        )
        for number, stride in enumerate(range(1, MESSAGES + 1))
    )


def _word(number: int) -> str:
    first, second = divmod(number, len(_SYLLABLES))
    third, fourth = divmod(first, len(_SYLLABLES))
    return _SYLLABLES[second] + _SYLLABLES[fourth] + _SYLLABLES[third % len(_SYLLABLES)]
