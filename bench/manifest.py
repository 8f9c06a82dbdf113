"""The manifest: what one costs among many lessons and memories, and beside a few of them.

A manifest is a whole one, with a question to memory; only the embedding of the question is left
out. It is measured without and with what it records: its ledger, and what was shown. That adds a
trip to the disk, whatever the log holds.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path

from bench import sample_memory
from bench.comparison import (
    OWN_TIME,
    Claim,
    Outcome,
    Rate,
    bounded,
    compare,
    dearer,
    own_ms,
    require,
    steady,
)
from bench.run_folder import RunFolder
from bench.sample_memory import BATCH, FreeEmbedder, remembered
from everloop.adapters.system import system_ports
from everloop.app import PROJECTIONS, Engine
from everloop.lessons.crew.events import CrewWritten, Skill
from everloop.lessons.manifest.builder import ManifestBuilder
from everloop.lessons.manifest.manifest import ManifestRequest
from everloop.lessons.manifest.settings import ManifestSettings
from everloop.lessons.model.events import LessonActivated, LessonProposed, LessonUsed
from everloop.lessons.model.state import text_digest
from everloop.lessons.settings import LessonSettings
from everloop.log import Command, Context, Draft, Receipt, open_log
from everloop.memory.index.vector_index import VectorIndex
from everloop.memory.index.vector_store import VectorCache
from everloop.memory.service import MemoryService
from everloop.settings import Settings

LESSONS, FEW, MEMORIES, SKILLS = 10_000, 100, 100_000, 50
GOAL_MS = 20.0
USER = Context()
ASKER = "agent:bench"


class School:
    """An open log of lessons, memories and skills. A third of the lessons was used, some often."""

    def __init__(self, folder: Path, lessons: int, memories: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        ports = system_ports(10)
        self.log = open_log(folder / "everloop.db", [view() for view in PROJECTIONS], ports=ports)
        engine = Engine(self.log, ports, Settings())
        space = VectorIndex(VectorCache(folder / "vectors.db"), FreeEmbedder(memories))
        self.keeper = MemoryService(self.log, engine, ports.clock, ports.ids, space)
        self._outside = (ports.clock, ports.ids)
        self._engine = engine
        _fill(self, lessons, memories)

    def manifests(self, *, recording: bool = True) -> ManifestBuilder:
        """What puts manifests together; without recording, to measure all the rest."""
        return ManifestBuilder(
            self.log,
            self._engine if recording else _Unrecorded(),
            lambda: self.keeper,
            self._outside,
            LessonSettings(),
            ManifestSettings(),
        )

    def close(self) -> None:
        """Close the log."""
        self.log.close()


def whole(run: RunFolder, *, lessons: int, memories: int, recording: bool) -> Outcome:
    """One manifest after the other, as in every turn of a host: our own time, without waiting."""
    name, more = ("manifest-recorded", ", recorded") if recording else ("manifest", "")
    title = f"manifest{more}, among {lessons:,} lessons and {memories:,} memories"
    claim = Claim(name, title, "", "ms", "at most", goal=GOAL_MS, note=OWN_TIME)
    act = _asked(_school(run, lessons, memories).manifests(recording=recording))
    for _ in sample_memory.questions():
        act()
    return bounded(claim, [own_ms(act) for _ in range(10 * run.pace(share=0.3)["rounds"])])


def growth(run: RunFolder, *, few: int, many: int) -> Outcome:
    """How many times dearer a manifest is among many lessons than among few; no memories."""
    title = f"manifest among {many:,} lessons, beside the same among {few:,}"
    claim = Claim("manifest-growth", title, f"among {few:,}", "ms", "at most", goal=1.5)
    small, large = _school(run, few, 0), _school(run, many, 0)
    wish = ManifestRequest(memory_query="")
    rounds = compare(
        _told(large.manifests(recording=False), wish),
        _told(small.manifests(recording=False), wish),
        **run.pace(share=0.3),
    )
    return dearer(claim, rounds)


def opening(run: RunFolder, *, lessons: int) -> Outcome:
    """The first manifest of a process, which reads the order of the lessons; no question."""
    title = f"first manifest of a process, among {lessons:,} lessons"
    claim = Claim("manifest-first", title, "", "ms", "at most", goal=200, note=OWN_TIME)
    school = _school(run, lessons, 0)
    heralds = [school.manifests(recording=False) for _ in range(5)]
    found = [own_ms(partial(each.build, ManifestRequest(), by=USER)) for each in heralds]
    return bounded(claim, found)


def measures() -> dict[str, partial[Outcome]]:
    """Every measure by name."""
    return {
        "manifest": partial(whole, lessons=LESSONS, memories=MEMORIES, recording=False),
        "manifest-recorded": partial(whole, lessons=LESSONS, memories=MEMORIES, recording=True),
        "manifest-growth": partial(growth, few=FEW, many=LESSONS),
        "manifest-first": partial(opening, lessons=LESSONS),
    }


_schools: dict[tuple[int, int], School] = {}  # made once in a run


def close() -> None:
    """Close the logs that were made for this run."""
    for school in _schools.values():
        school.close()
    _schools.clear()


def _school(run: RunFolder, lessons: int, memories: int) -> School:
    key = (lessons, memories)
    if key not in _schools:
        folder = run.folder(f"manifest-{lessons}-{memories}")
        _schools[key] = School(folder, lessons, memories)
    return _schools[key]


def _asked(manifests: ManifestBuilder) -> Callable[[], int]:
    """A manifest with the next question."""
    texts = cycle(sample_memory.questions())

    def act() -> int:
        found = manifests.build(ManifestRequest(memory_query=next(texts)), by=USER)
        require(len(found.lessons) == 5 and len(found.memories) == 5, "a manifest was not full")
        return 1

    return act


def _told(manifests: ManifestBuilder, wish: ManifestRequest) -> Rate:
    def act() -> int:
        found = manifests.build(wish, by=USER)
        require(len(found.lessons) == 5, "a manifest was not full")
        return 1

    return steady(act)


class _Unrecorded:
    """A bus that records nothing."""

    def do(self, command: Command, *, by: Context = USER) -> Receipt:
        """Refuse: a manifest records with `do_many`."""
        raise NotImplementedError(command, by)

    def do_many(self, commands: Sequence[Command], *, by: Context = USER) -> list[Receipt]:
        """Record nothing."""
        del commands, by
        return []


def _fill(school: School, lessons: int, memories: int) -> None:
    log = school.log
    for batch in remembered(0, memories):
        log.append("memory:bench", batch, actor="user")
    for drafts in _proposed(lessons):
        facts = log.append("lesson:bench", drafts, actor=ASKER).facts
        places = [(f.position, f.event) for f in facts if isinstance(f.event, LessonProposed)]
        log.append("lesson:bench", [d for at, new in places for d in _lived(at, new)], actor=ASKER)
    skill = Skill("Does what it is asked to do, and says so", "Read. Think. Do.")
    written = [
        CrewWritten("skill", f"skill-{n}", skill, "user", "active", "user", "", (), "")
        for n in range(SKILLS)
    ]
    log.append("skill:bench", written, actor="user")
    school.keeper.embed_missing()


def _proposed(lessons: int) -> Iterator[list[Draft]]:
    for first in range(0, lessons, BATCH):
        numbers = range(first, min(lessons, first + BATCH))
        texts = sample_memory.texts(first, len(numbers))
        yield [Draft(_lesson(n, text)) for n, text in zip(numbers, texts, strict=True)]


def _lesson(number: int, text: str) -> LessonProposed:
    return LessonProposed(
        lesson_id=f"les-{number:06d}",
        description=text[:60],
        body=text,
        scope="user",
        author="agent",
        session="bench",
        evidence=(),
        pack_id="",
        external_id="",
        source=None,
        target_skill="",
    )


def _lived(at: int, new: LessonProposed) -> Iterator[Draft]:
    """What happened to a lesson: most are on trial, a third was used, one in a hundred often."""
    number = int(new.lesson_id[4:])
    yield Draft(LessonActivated(new.lesson_id), (at,))
    digest = text_digest(new.description, new.body)
    uses = 100 if number % 100 == 0 else int(number % 3 == 0)
    for use in range(uses):
        yield Draft(LessonUsed(new.lesson_id, digest, f"s{use}", ""), (at,))
