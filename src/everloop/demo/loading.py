"""Puts the year into an empty engine, by the commands that everybody uses.

Messages carry their own dates. What is recorded now is recorded now: the log says so of each fact.
"""

import re
from collections.abc import Sequence

import msgspec

from everloop.app import USER, Engine
from everloop.demo.year import Kept, Lesson, Memory, Year, kept, noon
from everloop.errors import Conflict
from everloop.lessons.commands import GiveFeedback, ProposeLesson
from everloop.lessons.events import Narrative, QuoteEvidence
from everloop.memory.commands import PinItem, RateItem, RememberItem, RetireItem
from everloop.memory.compress import Gist
from everloop.ports import Progress
from everloop.thread.brief import shortened
from everloop.thread.commands import HOME, NoteDecision, NoteIntent, NoteTopic, OpenTopic
from everloop.thread.importing import Importer
from everloop.thread.policies import Remembering, sum_up
from everloop.thread.pyramid import Pyramid
from everloop.thread.windows import Window

BATCH = 500
SENTENCES = 2  # of a question, that are kept
_STAMP = re.compile(r"^\d{4}-\d\d-\d\d(?: \d\d:\d\d (user|assistant))?: ")
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_DECIDED = re.compile(r"\*\*(Decided: [^*]+)\*\*")


class Loaded(msgspec.Struct, frozen=True):
    """How much there is to look at."""

    messages: int
    memories: int
    lessons: int
    summaries: int


def load_demo(engine: Engine, progress: Progress | None = None) -> Loaded:
    """Put the year in.

    Raises:
        Conflict: something is in the log already.
    """
    if engine.log.head:
        raise Conflict(
            "there is something in this log already", hint="Name a folder that does not exist yet."
        )
    beside = kept()
    done = Importer(engine.log, engine.do_many, USER, batch=BATCH).run(Year(), progress)
    Remembering(engine.log, engine.do_many).remember()
    for memory in beside.memory:
        _remember(engine, memory)
    for lesson in beside.lesson:
        _teach(engine, lesson)
    _note(engine, beside)
    pyramid = Pyramid(engine.log, engine.do, engine.log.ids, in_its_own_words)
    summaries = sum_up(engine.log, pyramid, engine.world.clock)
    return Loaded(done.messages, len(beside.memory), len(beside.lesson), summaries)


def in_its_own_words(window: Window, lines: Sequence[str], budget: int) -> Gist:
    """A summary without a model: how each question began, and what was decided."""
    del window
    words = " ".join(filter(None, map(_gist_of, lines)))
    title = _SENTENCE.split(words, maxsplit=1)[0].rstrip(".?!")
    return Gist(title[:80], shortened(words, budget))


def _remember(engine: Engine, memory: Memory) -> None:
    item_id = engine.log.ids.new("mem")
    new = RememberItem(item_id, memory.text, memory.title, happened_at=noon(memory.on))
    item_id = engine.memory.remember(new, by=USER).item_id
    if memory.weight:
        engine.do(RateItem(item_id, memory.weight), by=USER)
    if memory.pinned:
        engine.do(PinItem(item_id), by=USER)
    if memory.retired:
        engine.do(RetireItem(item_id, memory.retired), by=USER)


def _teach(engine: Engine, lesson: Lesson) -> None:
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
    for number in range(lesson.helped + lesson.harmed):
        signal = GiveFeedback(lesson_id, number < lesson.helped, f"demo-{number}")
        engine.lessons.feedback(signal, by=USER)


def _note(engine: Engine, beside: Kept) -> None:
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
    """What is kept of a line: of what is summed up already, all of it."""
    found = _STAMP.match(line)
    role = found.group(1) if found else None
    text = " ".join(_STAMP.sub("", line).replace("\n> ", " ").split())
    if role == "assistant":
        return " ".join(_DECIDED.findall(text))
    return " ".join(_SENTENCE.split(text)[:SENTENCES]) if role else text
