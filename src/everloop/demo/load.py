"""Loads the demo year into an empty log, through the ordinary commands.

A simulated clock goes through the year up to now: memories, model usage and lessons are recorded on
their day; the conversations are imported with their own dates. Nothing is dated after now.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from operator import itemgetter
from pathlib import Path

import msgspec

from everloop.app import ENGINE, USER, Engine
from everloop.demo.clock import SimulatedClock
from everloop.demo.story import (
    ANSWERED_AFTER,
    LESSONS_FROM,
    OTHER,
    DemoBranchExport,
    DemoContent,
    DemoCrewEntry,
    DemoExport,
    DemoLatestExport,
    DemoLesson,
    DemoMemory,
    Exchange,
    days_before,
    exchanges,
    load_content,
)
from everloop.demo.usage import simulated_calls
from everloop.demo.world import load_world
from everloop.errors import Conflict
from everloop.lessons.crew.commands import EnlistEntry
from everloop.lessons.crew.events import Member, Persona, Profile, Skill, Team
from everloop.lessons.model.commands import GiveFeedback, ProposeLesson, UseLesson
from everloop.lessons.model.events import Narrative, QuoteEvidence
from everloop.log import Context
from everloop.memory.model.commands import PinItem, RateItem, RememberItem, RetireItem
from everloop.memory.summaries.compress import SummaryText
from everloop.ports import Progress, SystemPorts
from everloop.settings import Settings
from everloop.thread.background import RememberMessagesTask, summarise_due_windows
from everloop.thread.model.calendar_windows import CalendarWindow
from everloop.thread.model.commands import (
    HOME,
    NoteDecision,
    NoteIntent,
    NoteTopic,
    OpenTopic,
)
from everloop.thread.model.state import thread_stream
from everloop.thread.pyramid.summarise import SummaryPyramid
from everloop.thread.queries import threads
from everloop.thread.quoting import truncate_to_tokens
from everloop.thread.transfer.import_threads import ThreadImporter

_Step = tuple[datetime, Callable[[], object]]  # when something was recorded, and how

BATCH = 500
SUMMARIES_PART = 150  # length of the last part of the progress bar, in steps
SESSIONS = 4  # number of sessions in which lessons were used
LATELY = 100  # newest messages among which the alternative branch forks
SENTENCES = 2  # of a question that go into a summary
_STAMP = re.compile(r"^\d{4}-\d\d-\d\d(?: \d\d:\d\d (user|assistant))?: ")
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_DECIDED = re.compile(r"\*\*(Decided: [^*]+)\*\*")


class DemoCounts(msgspec.Struct, frozen=True):
    """How much the demo contains."""

    messages: int
    memories: int
    lessons: int
    summaries: int


def load_demo(
    folder: Path, settings: Settings, ports: SystemPorts, progress: Progress | None = None
) -> DemoCounts:
    """Load the demo year into a folder.

    Raises:
        Conflict: the log is not empty.
    """
    beside = load_content()
    now = ports.clock.now()
    said = list(exchanges(now))
    calendar = SimulatedClock(said[0].at)
    outside = ports._replace(clock=calendar)
    with Engine.open(folder, settings=settings, ports=outside) as engine:
        if engine.log.head:
            raise Conflict(
                "the log is not empty",
                hint="Choose a folder that does not exist yet.",
            )
        bar = _Bar(progress)
        for at, step in bar.over(sorted(_steps(engine, said, beside, now), key=itemgetter(0))):
            calendar.advance_to(at)
            step()
        calendar.advance_to(now)  # so that all closed windows are summarised
        RememberMessagesTask(engine.log, engine).remember()
        pyramid = SummaryPyramid(engine.log, engine, engine.log.ids, summarise_without_model)
        summaries = summarise_due_windows(engine.log, pyramid, calendar, progress=bar.last_part)
    return DemoCounts(2 * len(said), len(beside.memory), len(beside.lesson), summaries)


class _Bar:
    """Shows the steps as the first part of a progress bar, and the summaries as the last part."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress or _no_progress
        self._steps = 0
        self._done = 0

    def over(self, steps: Sequence[_Step]) -> Iterator[_Step]:
        """The steps, one by one; the bar moves with each."""
        self._steps = len(steps)
        for number, step in enumerate(steps):
            self._show(number)
            yield step

    def last_part(self, done: int, total: int) -> None:
        """So many of the summaries are made."""
        self._show(self._steps + (SUMMARIES_PART * done // total if total else 0))

    def _show(self, done: int) -> None:
        self._done = max(self._done, done)  # it never goes back, also if more becomes due
        self._progress(self._done, self._steps + SUMMARIES_PART)


def _no_progress(done: int, total: int) -> None:
    """Nobody watches."""


def summarise_without_model(
    window: CalendarWindow, lines: Sequence[str], budget: int
) -> SummaryText:
    """Summarise without a model: the start of each question, and the decisions."""
    del window
    words = " ".join(filter(None, map(_gist_of, lines)))
    title = _SENTENCE.split(words, maxsplit=1)[0].rstrip(".?!")
    return SummaryText(title[:80], truncate_to_tokens(words, budget))


def _steps(
    engine: Engine, said: Sequence[Exchange], beside: DemoContent, now: datetime
) -> Iterator[_Step]:
    """Everything that is recorded, each with its time; what was said comes in two imports."""
    first = days_before(now, LESSONS_FROM, hour=23)
    last = said[-1].at + ANSWERED_AFTER
    early = DemoExport(one for one in said if one.at < first)
    late = DemoLatestExport(one for one in said if one.at >= first)
    for memory in beside.memory:
        at = days_before(now, memory.days_ago)
        yield at, partial(_add_memory, engine, memory, at)
    for at, call in simulated_calls([one for one in said if one.thread != OTHER]):
        yield at, partial(engine.do, call, by=ENGINE)
    yield first, partial(_import, engine, early)
    yield first, RememberMessagesTask(engine.log, engine).remember  # so that lessons can quote them
    for lesson in beside.lesson:
        yield days_before(now, lesson.days_ago), partial(_add_lesson, engine, lesson)
    yield last, partial(_import, engine, late)
    yield last, partial(_import_branch, engine, DemoBranchExport(said))
    for host in beside.hosts:
        yield last, partial(engine.lessons.trust, host, by=USER)
    for entry in beside.crew:
        yield last, partial(_add_crew, engine, entry)
    yield last, partial(_add_notes, engine, beside)
    yield last, partial(load_world, engine, now)


def _import(engine: Engine, export: DemoExport) -> None:
    ThreadImporter(engine.log, engine, USER, batch=BATCH).run(export)


def _import_branch(engine: Engine, export: DemoBranchExport) -> None:
    """Import the alternative branch, and go back to the first one."""
    with engine.reading() as reader:
        home = threads.newest_messages(reader, HOME, LATELY).messages
    before = [one for one in home if one.said_at < export.branch_exchanges[0].at]
    engine.log.rewind(before[-1].position, tree=thread_stream(HOME), actor=USER.actor)
    _import(engine, export)
    engine.log.switch_branch(thread_stream(HOME), actor=USER.actor)


def _add_crew(engine: Engine, entry: DemoCrewEntry) -> None:
    words = (entry.description, entry.body)
    members = tuple(Member("persona", name) for name in entry.members)
    profiles: dict[str, Profile] = {
        "skill": Skill(*words),
        "persona": Persona(entry.title, *words),
        "team": Team(entry.title, *words, members),
    }
    new = EnlistEntry(
        entry.sort, entry.name, profiles[entry.sort], author="user", draft=entry.draft
    )
    engine.crew.enlist(new, by=USER)


def _add_memory(engine: Engine, memory: DemoMemory, at: datetime) -> None:
    item_id = engine.log.ids.new("mem")
    new = RememberItem(item_id, memory.text, memory.title, happened_at=at.isoformat())
    item_id = engine.memory.remember(new, by=USER).item_id
    if memory.weight:
        engine.do(RateItem(item_id, memory.weight), by=USER)
    if memory.pinned:
        engine.do(PinItem(item_id), by=USER)
    if memory.retired:
        engine.do(RetireItem(item_id, memory.retired), by=USER)


def _add_lesson(engine: Engine, lesson: DemoLesson) -> None:
    evidence = tuple(QuoteEvidence(quote) for quote in lesson.quotes)
    new = ProposeLesson(
        engine.log.ids.new("les"),
        lesson.description,
        lesson.body,
        author="pack" if lesson.stands else "user",
        evidence=evidence,
        pack_id="everloop-demo" if lesson.stands else "",
        seed_as_promoted=lesson.stands,
    )
    lesson_id = engine.lessons.propose(new, by=USER).lesson_id
    if lesson.trial:
        engine.lessons.activate(lesson_id, by=USER)
    if lesson.trigger:
        why = Narrative(
            lesson.trigger, lesson.failure_mode, lesson.correction, "observed", evidence
        )
        engine.lessons.narrate(lesson_id, by=USER, narrative=why)
    for number in range(lesson.used):
        by = Context(session=f"demo-{number % SESSIONS}")
        engine.lessons.use(UseLesson(lesson_id, f"demo-{number}"), by=by)
    for number in range(lesson.helped + lesson.harmed):
        signal = GiveFeedback(lesson_id, number < lesson.helped, f"demo-{number}")
        engine.lessons.feedback(signal, by=USER)


def _add_notes(engine: Engine, beside: DemoContent) -> None:
    new = engine.log.ids.new
    for topic in beside.topic:
        topic_id = new("top")
        engine.do(OpenTopic(HOME, topic_id, topic.title), by=USER)
        engine.do(NoteTopic(HOME, topic_id, topic.note), by=USER)
    for decision in beside.decision:
        engine.do(NoteDecision(HOME, new("dec"), decision.text), by=USER)
    for intent in beside.intent:
        engine.do(NoteIntent(HOME, new("int"), intent.text), by=USER)


def _gist_of(line: str) -> str:
    """The part of a line that goes into a summary; of a summary, all of it."""
    found = _STAMP.match(line)
    role = found.group(1) if found else None
    text = " ".join(_STAMP.sub("", line).replace("\n> ", " ").split())
    if role == "assistant":
        return " ".join(_DECIDED.findall(text))
    return " ".join(_SENTENCE.split(text)[:SENTENCES]) if role else text
