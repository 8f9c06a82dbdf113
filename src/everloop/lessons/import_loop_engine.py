"""Imports the home of loop-engine: its memories, lessons, skills, personas and teams.

Everything comes in as `agent:loop-engine`: a file does not speak for the user. Lessons are pending
and entries are drafts, whatever they were there; the user may activate at once what was active. Its
counters are no facts, so uses and praise stay behind; blame comes along. Repeating an import
changes nothing.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from everloop.errors import Rejected
from everloop.lessons.crew.commands import ActivateEntry
from everloop.lessons.crew.events import Sort
from everloop.lessons.crew.pack import Pack
from everloop.lessons.crew.service import CrewService
from everloop.lessons.gate.evidence import parse_evidence
from everloop.lessons.model.commands import GiveFeedback, NarrateLesson, ProposeLesson
from everloop.lessons.model.events import Narrative
from everloop.lessons.model.lifecycle import APPROVED_STATUSES
from everloop.lessons.service import LessonService
from everloop.log import CommandBus, Context
from everloop.memory.markdown.folder import PageProblem
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.events import Origin

LOOP_ENGINE_HOST: Final = "loop-engine"
SORTS: Final[tuple[Sort, ...]] = ("skill", "persona", "team")
GONE: Final = ("discarded", "superseded")  # statuses of lessons that stay behind


class HomeMemory(msgspec.Struct, frozen=True):
    """A memory of the home."""

    source: str
    item_id: str
    title: str
    text: str
    scope: str
    origin: Origin
    created_at: str
    derived_from: tuple[str, ...] = ()


class HomeLesson(msgspec.Struct, frozen=True):
    """A lesson of the home. `evidence` are ids of memories, and quotes."""

    source: str
    lesson_id: str
    description: str
    body: str
    status: str
    author: str
    pack_id: str = ""
    external_id: str = ""
    target_skill: str = ""
    evidence: tuple[str, ...] = ()
    narrative: Narrative | None = None
    thumbs_down: int = 0


class LoopEngineHome(msgspec.Struct, frozen=True):
    """A home as it was read. `behind` counts what is not imported, by its kind."""

    memories: tuple[HomeMemory, ...] = ()
    lessons: tuple[HomeLesson, ...] = ()
    crew: Pack = Pack("", ())
    active: tuple[tuple[str, str], ...] = ()  # sort and name of the entries that were active
    problems: tuple[PageProblem, ...] = ()
    behind: dict[str, int] = {}


class KindReport(msgspec.Struct, frozen=True):
    """How many of a kind were found, are new here, and were activated."""

    found: int = 0
    new: int = 0
    activated: int = 0


class HomeReport(msgspec.Struct, frozen=True):
    """What an import brought in, what could not be read, and what stayed behind."""

    kinds: dict[str, KindReport]
    problems: tuple[PageProblem, ...]
    behind: dict[str, int]


class HomeImport:
    """Imports a home. With a `user`, what was active there is activated in their name."""

    def __init__(
        self, bus: CommandBus, services: tuple[LessonService, CrewService], by: Context
    ) -> None:
        self._bus = bus
        self._lessons, self._crew = services
        self._by = by
        self._problems: list[PageProblem] = []

    def run(self, home: LoopEngineHome, *, user: Context | None = None) -> HomeReport:
        """Import everything; what is refused is reported and does not stop the rest."""
        self._problems = list(home.problems)
        kinds = {
            "memories": self._memories(home.memories),
            "lessons": self._each_lesson(home.lessons, user),
            **self._entries(home, user),
        }
        return HomeReport(kinds, tuple(self._problems), home.behind)

    def _memories(self, memories: Sequence[HomeMemory]) -> KindReport:
        """Remember each, summaries after their sources: they depend on them."""
        known = {memory.item_id for memory in memories}
        positions: dict[str, int] = {}
        todo, new = list(memories), 0
        while todo:
            ready = [each for each in todo if not _waits(each, known, positions)] or todo
            for memory in ready:
                at = self._try(memory.source, partial(self._remember, memory, positions))
                positions[memory.item_id] = at or 0
                new += bool(at)
            todo = [each for each in todo if each.item_id not in positions]
        return KindReport(len(memories), new)

    def _remember(self, memory: HomeMemory, positions: dict[str, int]) -> int:
        """The position of a new memory; 0 if it is here already."""
        command = RememberItem(
            item_id=memory.item_id,
            text=memory.text,
            title=memory.title,
            scope=memory.scope,
            origin=memory.origin,
            learned_via="imported",
            happened_at=memory.created_at,
            derived_from=memory.derived_from,
            because=tuple(at for each in memory.derived_from if (at := positions.get(each, 0))),
        )
        receipt = self._bus.do(command, by=self._by)
        return receipt.facts[0].position if receipt.facts else 0

    def _each_lesson(self, lessons: Sequence[HomeLesson], user: Context | None) -> KindReport:
        new = activated = 0
        for lesson in lessons:
            new += bool(self._try(lesson.source, partial(self._propose, lesson)))
            if user is not None and lesson.status in APPROVED_STATUSES:
                activated += bool(self._try(lesson.source, partial(self._activate, lesson, user)))
        return KindReport(len(lessons), new, activated)

    def _propose(self, lesson: HomeLesson) -> int:
        """1 if the lesson is new, else 0."""
        evidence = parse_evidence(lesson.evidence)
        new = ProposeLesson(
            lesson_id=lesson.lesson_id,
            description=lesson.description,
            body=lesson.body,
            scope=self._lessons.scope_of_evidence(evidence, by=self._by),
            author=lesson.author,
            evidence=evidence,
            pack_id=lesson.pack_id,
            external_id=lesson.external_id,
            target_skill=lesson.target_skill,
        )
        made = self._lessons.propose(new, by=self._by)
        if made.updated:
            return 0
        if lesson.narrative is not None:
            told = NarrateLesson(made.lesson_id, lesson.narrative)
            self._try(lesson.source, partial(self._done, told))
        if lesson.thumbs_down:
            blame = GiveFeedback(made.lesson_id, False, f"{LOOP_ENGINE_HOST}:{lesson.lesson_id}")
            self._done(blame)
        return 1

    def _done(self, command: NarrateLesson | GiveFeedback) -> int:
        return len(self._bus.do(command, by=self._by).facts)

    def _activate(self, lesson: HomeLesson, user: Context) -> int:
        found = self._lessons.find(user.actor, lesson.lesson_id)
        after = self._lessons.activate(lesson.lesson_id, by=user, text_digest=found.digest)
        return int(after.status is not found.status)

    def _entries(self, home: LoopEngineHome, user: Context | None) -> dict[str, KindReport]:
        done = self._crew.import_entries(home.crew, by=self._by)
        self._problems += done.troubles
        kinds: dict[str, KindReport] = {}
        for sort in SORTS:
            there = [each for each in done.entries if each.sort == sort]
            names = [name for kind, name in home.active if kind == sort]
            activated = 0
            if user is not None:
                uses = {name: partial(self._use, ActivateEntry(sort, name), user) for name in names}
                activated = sum(self._try(f"{sort}s/{name}", use) for name, use in uses.items())
            new = sum(each.what == "new" for each in there)
            kinds[f"{sort}s"] = KindReport(len(there), new, activated)
        return kinds

    def _use(self, command: ActivateEntry, user: Context) -> int:
        """1 if the entry was not active before, else 0."""
        return int(bool(self._crew.change_status(command, by=user).facts))

    def _try(self, source: str, act: Callable[[], int]) -> int:
        try:
            return act()
        except Rejected as problem:
            self._problems.append(PageProblem(source, str(problem), problem.hint))
            return 0


def _waits(memory: HomeMemory, known: set[str], positions: dict[str, int]) -> bool:
    """Whether a source of a summary is still to come."""
    return any(each in known and each not in positions for each in memory.derived_from)
