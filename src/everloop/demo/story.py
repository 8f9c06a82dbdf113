"""The demo story as data, read from files of the package. Every day of it is relative to now."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any, Literal

import msgspec

from everloop.thread.model.commands import HOME
from everloop.thread.transfer.parsed_export import ImportProblem, ParsedChat, ParsedMessage

OTHER = "other"  # exchanges of the alternative branch
TITLES = {"spanish": "Spanish", "kitchen": "The new kitchen"}
ANSWERED_AFTER = timedelta(minutes=1)
LESSONS_FROM = 21  # days ago; what was said before is recorded then, so that lessons can quote it
_HEAD = re.compile(r"^=== (\d+) days ago (\d\d:\d\d)(?: \[(\w+)\])?\n", re.MULTILINE)


class DemoMemory(msgspec.Struct, frozen=True):
    """A memory of the demo person, written down so many days ago."""

    days_ago: int
    text: str
    title: str = ""
    pinned: bool = False
    weight: int = 0
    retired: str = ""


class DemoLesson(msgspec.Struct, frozen=True):
    """A lesson of the demo year, proposed so many days ago: fewer than `LESSONS_FROM`."""

    days_ago: int
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
    name = "a year of Maya"
    identity = "everloop-demo"

    def __init__(self, said: Iterable[Exchange]) -> None:
        self._said = list(said)
        self.size = len(self._said)

    def chats(self) -> Iterator[ParsedChat | ImportProblem]:
        """The conversations, one at a time."""
        for thread in ("", *TITLES):
            said = [one for one in self._said if one.thread == thread]
            if messages := tuple(message for one in said for message in _messages(one)):
                name, home = f"demo-{thread or HOME}", "" if thread else HOME
                yield ParsedChat(name, TITLES.get(thread, ""), messages, self.size, home)


class DemoLatestExport(DemoExport):
    """The messages of the last weeks, which were said after the lessons were proposed."""

    name = "the last weeks of Maya"
    identity = "everloop-demo-latest"


class DemoBranchExport(DemoExport):
    """The messages of the alternative branch of the home thread, as an export."""

    name = "a year of Maya, told otherwise"
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
    """All exchanges in order, on days relative to `now`; none of them is in the future."""
    _, *parts = _HEAD.split(_read("story.txt"))
    for days, time, thread, text in zip(*(parts[n::4] for n in range(4)), strict=True):
        question, _, answer = text.partition("\n---\n")
        hours, minutes = time.split(":")
        said_at = days_before(now, int(days), hour=int(hours), minute=int(minutes))
        yield Exchange(said_at, thread or "", question.strip(), answer.strip())


def days_before(now: datetime, days: int, *, hour: int = 12, minute: int = 0) -> datetime:
    """A time of day so many days before `now`; at least one day, so that it has passed."""
    day = now.astimezone(UTC) - timedelta(days=days)
    return day.replace(hour=hour, minute=minute, second=0, microsecond=0)


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
