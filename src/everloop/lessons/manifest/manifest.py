"""The manifest: what a host's model is told at the beginning of a turn. Pure; `herald.py` fills it.

Lessons with their standing at the gate, memories that fit a question, and the skills, personas and
teams in use, within a budget of tokens. What is stored is untrusted: it stands on one line, and
cannot begin a section of its own.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Final, TypeVar

import msgspec

from everloop.lessons.crew.events import Sort
from everloop.lessons.crew.queries import Headline
from everloop.lessons.projections.queries import LessonSeen
from everloop.memory.context import Assembled, Piece, Section
from everloop.memory.projections.queries import Filter
from everloop.memory.projections.status_notes import held
from everloop.memory.retrieval.results import Mode, Recalled

T = TypeVar("T")

PLURALS: Final[dict[Sort, str]] = {"skill": "skills", "persona": "personas", "team": "teams"}


class Wish(msgspec.Struct, frozen=True):
    """What to show. None: as the settings say.

    `scopes` narrows lessons and crew to these; empty is all that the principal may see.
    `skills`, `personas` and `teams` name those of the host's session; None is all that are in use.
    `paths` are the files at hand: a skill that waits for other paths is left out then.
    """

    statuses: tuple[str, ...] = ("active",)
    lesson_limit: int | None = None
    preview_characters: int | None = None
    gate: bool = True
    record: bool = True
    memory_query: str = ""
    memory_limit: int | None = None
    memory_only: Filter = Filter()
    memory_mode: Mode = "hybrid"
    memory_similarity_min: float = 0.0
    scopes: tuple[str, ...] = ()
    skills: tuple[str, ...] | None = None
    personas: tuple[str, ...] | None = None
    teams: tuple[str, ...] | None = None
    paths: tuple[str, ...] = ()


class GateNote(msgspec.Struct, frozen=True):
    """Where a lesson stands: `promote` if nothing is in its way, else `block`, and by what."""

    kind: str
    reasons: tuple[str, ...]


class ShownLesson(msgspec.Struct, frozen=True):
    """A lesson in a manifest."""

    lesson: LessonSeen
    preview: str
    gate: GateNote | None


class ShownMemory(msgspec.Struct, frozen=True):
    """A memory in a manifest."""

    item_id: str
    title: str
    preview: str
    similarity: float


class Stats(msgspec.Struct, frozen=True):
    """What it took. `skipped` did not fit the budget; `stale` were named and are not in use."""

    assembled_at: datetime
    listed: int
    skipped: int
    gate_skips: int
    record_failures: int
    memories: int
    memory_failures: int
    stale: int
    notes: tuple[str, ...] = ()


class Manifest(msgspec.Struct, frozen=True):
    """What is shown, as sections and as one text; `context_id` leads to the ledger."""

    context_id: str
    text: str
    tokens: int
    lessons: tuple[ShownLesson, ...]
    memories: tuple[ShownMemory, ...]
    skills: tuple[Headline, ...]
    personas: tuple[Headline, ...]
    teams: tuple[Headline, ...]
    stats: Stats


class Found(msgspec.Struct):
    """What was found for a manifest, before it is known what fits."""

    lessons: list[ShownLesson] = []
    listed: int = 0
    gate_skips: int = 0
    memories: list[Recalled] = []
    memory_failures: int = 0
    crew: dict[Sort, list[Headline]] = {}
    stale: int = 0
    notes: tuple[str, ...] = ()


def sections(found: Found, cut: int) -> tuple[Section, ...]:
    """What was found, as sections of a prompt: what is kept longest first."""
    memories = _pieces(found.memories, lambda hit: _memory(hit, cut))
    return (
        Section("lessons", "should", _pieces(found.lessons, _lesson), "## Lessons", stays=4),
        Section("memories", "should", memories, "## Memories", stays=3),
        *(
            Section(
                PLURALS[sort],
                "should" if sort == "skill" else "nice",
                _pieces(found.crew.get(sort, ()), _entry),
                f"## {PLURALS[sort].capitalize()}",
                stays=2,
            )
            for sort in PLURALS
        ),
    )


def chosen(
    used: Sequence[Headline], named: Sequence[str] | None, paths: Sequence[str]
) -> tuple[list[Headline], int]:
    """Those in use that are shown, and how many were named that are not in use."""
    if named is None:
        return [each for each in used if _offered(each, paths)], 0
    known = {each.name: each for each in used}
    wanted = list(dict.fromkeys(named))
    return [known[name] for name in wanted if name in known], len(set(wanted) - known.keys())


class Took(msgspec.Struct, frozen=True):
    """When it was made, how many lessons could not be noted as shown, how long previews are."""

    at: datetime
    failures: int
    cut: int


def manifest_of(found: Found, assembled: Assembled, context_id: str, took: Took) -> Manifest:
    """The manifest that was put together."""
    shown = kept(assembled)
    offered = sum(len(section.entries) for section in assembled.ledger.sections)
    memories = [hit for hit in found.memories if hit.item.item_id in shown]
    crew = {
        sort: tuple(each for each in entries if f"{sort}:{each.name}" in shown)
        for sort, entries in found.crew.items()
    }
    return Manifest(
        context_id=context_id,
        text=assembled.text,
        tokens=assembled.ledger.tokens,
        lessons=tuple(each for each in found.lessons if each.lesson.lesson_id in shown),
        memories=tuple(_shown_memory(hit, took.cut) for hit in memories),
        skills=crew["skill"],
        personas=crew["persona"],
        teams=crew["team"],
        stats=Stats(
            assembled_at=took.at,
            listed=found.listed,
            skipped=offered - len(shown),
            gate_skips=found.gate_skips,
            record_failures=took.failures,
            memories=len(memories),
            memory_failures=found.memory_failures,
            stale=found.stale,
            notes=found.notes,
        ),
    )


def kept(assembled: Assembled) -> set[str]:
    """The keys of the pieces that are in."""
    entries = (entry for section in assembled.ledger.sections for entry in section.entries)
    return {entry.key for entry in entries if not entry.left_out}


# -- inside ----------------------------------------------------------------------------------------


def _offered(skill: Headline, paths: Sequence[str]) -> bool:
    """Whether a model is to know of a skill by itself: not if it waits for the user, or a path."""
    if skill.activation == "path-triggered" and paths:
        return any(_fits(path, pattern) for path in paths for pattern in skill.paths)
    return skill.activation != "user-triggered"


def _fits(path: str, pattern: str) -> bool:
    """Whether a path fits a pattern; `**/` also stands for no folder at all."""
    return fnmatchcase(path, pattern) or fnmatchcase(path, pattern.replace("**/", ""))


def _pieces(things: Iterable[T], piece: Callable[[T], Piece]) -> tuple[Piece, ...]:
    return tuple(piece(thing) for thing in things)


def _lesson(shown: ShownLesson) -> Piece:
    lesson = shown.lesson
    standing = f"{lesson.status.value}, {_gate_words(shown.gate)}" if shown.gate else lesson.status
    words = ": ".join(part for part in (flat(lesson.description), shown.preview) if part)
    text = f"- {words} ({standing}; {lesson.lesson_id})"
    return Piece(lesson.lesson_id, text, (lesson.position,))


def _gate_words(note: GateNote) -> str:
    if not note.reasons:
        return "ready to be promoted"
    number = len(note.reasons)
    return f"not proven: {number} {'check' if number == 1 else 'checks'} open"


def _memory(hit: Recalled, cut: int) -> Piece:
    shown = _shown_memory(hit, cut)
    words = (
        shown.preview
        if shown.preview.startswith(shown.title)
        else f"{shown.title}: {shown.preview}"
    )
    named = f"({shown.item_id}{held(hit.item)})"
    return Piece(shown.item_id, f"- {words} {named}", (hit.item.version,))


def _shown_memory(hit: Recalled, cut: int) -> ShownMemory:
    item = hit.item
    return ShownMemory(item.item_id, flat(item.title), flat(item.text)[:cut], hit.similarity)


def _entry(each: Headline) -> Piece:
    name = each.name if each.title == each.name else f"{each.name} ({flat(each.title)})"
    return Piece(
        f"{each.sort}:{each.name}", f"- {name}: {flat(each.description)}", (each.position,)
    )


def flat(text: str) -> str:
    """Text on one line: what is stored cannot begin a section of its own."""
    return " ".join(text.split())
