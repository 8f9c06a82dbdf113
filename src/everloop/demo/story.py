"""The demo story as data, read from files of the package."""

import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from importlib import resources
from typing import Any, Literal

import msgspec

from everloop.thread.model.commands import HOME
from everloop.thread.transfer.parsed_export import ImportProblem, ParsedChat, ParsedMessage

OTHER = "other"  # exchanges of the alternative branch
TITLES = {"portuguese": "Portuguese", "workshop": "The workshop moves"}
ANSWERED_AFTER = timedelta(minutes=1)
_HEAD = re.compile(r"^=== (\S+|\d+ days ago) (\d\d:\d\d)(?: \[(\w+)\])?\n", re.MULTILINE)


class DemoMemory(msgspec.Struct, frozen=True):
    """A memory of the demo person."""

    on: date
    text: str
    title: str = ""
    pinned: bool = False
    weight: int = 0
    retired: str = ""

    @property
    def at(self) -> datetime:
        """Noon of that day."""
        return datetime(self.on.year, self.on.month, self.on.day, 12, tzinfo=UTC)


class DemoLesson(msgspec.Struct, frozen=True):
    """A lesson of the demo year."""

    description: str
    body: str
    quotes: tuple[str, ...] = ()
    trigger: str = ""
    failure_mode: str = ""
    correction: str = ""
    trial: bool = False
    stands: bool = False
    used: int = 0
    helped: int = 0
    harmed: int = 0


class DemoTopic(msgspec.Struct, frozen=True):
    """An open topic."""

    title: str
    note: str


class DemoNote(msgspec.Struct, frozen=True):
    """The text of a decision or an intent."""

    text: str


class DemoCrewEntry(msgspec.Struct, frozen=True):
    """A skill, a persona or a team. Members are personas."""

    sort: Literal["skill", "persona", "team"]
    name: str
    description: str
    body: str
    title: str = ""
    members: tuple[str, ...] = ()
    draft: bool = False


class DemoContent(msgspec.Struct, frozen=True):
    """Everything in the demo besides the messages."""

    memory: tuple[DemoMemory, ...]
    lesson: tuple[DemoLesson, ...]
    topic: tuple[DemoTopic, ...]
    intent: tuple[DemoNote, ...]
    decision: tuple[DemoNote, ...]
    crew: tuple[DemoCrewEntry, ...]
    hosts: tuple[str, ...]


class Exchange(msgspec.Struct, frozen=True):
    """A question and its answer."""

    at: datetime
    thread: str
    question: str
    answer: str


class DemoExport:
    """The conversations of the demo, in the form of an export."""

    kind = "jsonl"
    name = "a year of Ilse"
    identity = "everloop-demo"

    def __init__(self, now: datetime) -> None:
        self._said = list(exchanges(now))
        self.size = len(self._said)

    def chats(self) -> Iterator[ParsedChat | ImportProblem]:
        """The conversations, one at a time."""
        for thread in ("", *TITLES):
            said = [one for one in self._said if one.thread == thread]
            messages = tuple(message for one in said for message in _messages(one))
            home = HOME if not thread else ""
            yield ParsedChat(
                f"demo-{thread or HOME}", TITLES.get(thread, ""), messages, self.size, home
            )


class DemoBranchExport(DemoExport):
    """The messages of the alternative branch of the home thread, as an export."""

    name = "a year of Ilse, told otherwise"
    identity = "everloop-demo-other"

    def chats(self) -> Iterator[ParsedChat | ImportProblem]:
        """One conversation: the alternative branch of the home thread."""
        messages = tuple(message for one in self.branch_exchanges for message in _messages(one))
        yield ParsedChat("demo-other", "", messages, self.size, HOME)

    @property
    def branch_exchanges(self) -> list[Exchange]:
        """The questions and answers of the branch."""
        return [one for one in self._said if one.thread == OTHER]


def exchanges(now: datetime) -> Iterator[Exchange]:
    """All exchanges in order: the year, and the last days relative to `now`."""
    at = datetime.min.replace(tzinfo=UTC)
    for name in ("year.txt", "lately.txt"):
        for one in _exchanges(name, now.date()):
            if at <= one.at < now:
                at = one.at
                yield one


def _exchanges(name: str, today: date) -> Iterator[Exchange]:
    _, *parts = _HEAD.split(_read(name))
    for day, time, thread, text in zip(*(parts[n::4] for n in range(4)), strict=True):
        question, _, answer = text.partition("\n---\n")
        said_at = datetime.fromisoformat(f"{_day(day, today)}T{time}Z")
        yield Exchange(said_at, thread or "", question.strip(), answer.strip())


def _day(written: str, today: date) -> date:
    """Parse a day: a date, or `N days ago`."""
    ago, found, _ = written.partition(" days ago")
    return today - timedelta(days=int(ago)) if found else date.fromisoformat(written)


def _messages(one: Exchange) -> Iterator[ParsedMessage]:
    name = f"demo-{one.thread}{one.at:%y%m%d%H%M}"
    yield ParsedMessage(f"{name}-q", "user", one.question, one.at.isoformat(), "user")
    answered = one.at + ANSWERED_AFTER
    yield ParsedMessage(f"{name}-a", "assistant", one.answer, answered.isoformat(), "demo")


def load_content() -> DemoContent:
    """Load everything besides the messages."""
    read: dict[str, Any] = tomllib.loads(_read("kept.toml"))
    return msgspec.convert(read, DemoContent)


def _read(name: str) -> str:
    return resources.files("everloop.demo").joinpath(name).read_text(encoding="utf-8")
