"""The manifest: the context that a host's model gets at the start of a turn. Pure.

It has lessons with their gate results, memories that match a query, and the active skills, personas
and teams, within a token budget. Stored text is untrusted: it is put on one line, so that it cannot
begin a section of its own.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Final, TypeVar

import msgspec

from everloop.lessons.crew.events import Sort
from everloop.lessons.crew.queries import EntrySummary
from everloop.lessons.projections.queries import LessonView
from everloop.memory.context import AssembledPrompt, PromptPiece, PromptSection
from everloop.memory.projections.queries import Filter
from everloop.memory.projections.status_notes import format_expiry
from everloop.memory.retrieval.results import SearchHit, SearchMode

T = TypeVar("T")

PLURALS: Final[dict[Sort, str]] = {"skill": "skills", "persona": "personas", "team": "teams"}


class ManifestRequest(msgspec.Struct, frozen=True):
    """The options of a manifest. None means the value from the settings.

    `scopes` limits lessons and crew to these; empty means all that the principal may see. `skills`,
    `personas` and `teams` name those of the host's session; None means all active ones. `paths` are
    the open files: a skill that other paths trigger is then left out.
    """

    statuses: tuple[str, ...] = ("active",)
    lesson_limit: int | None = None
    preview_characters: int | None = None
    gate: bool = True
    record: bool = True
    memory_query: str = ""
    memory_limit: int | None = None
    memory_only: Filter = Filter()
    memory_mode: SearchMode = "hybrid"
    memory_similarity_min: float = 0.0
    scopes: tuple[str, ...] = ()
    skills: tuple[str, ...] | None = None
    personas: tuple[str, ...] | None = None
    teams: tuple[str, ...] | None = None
    paths: tuple[str, ...] = ()


class GateSummary(msgspec.Struct, frozen=True):
    """The gate result of a lesson: `promote`, or `block` with the reasons."""

    kind: str
    reasons: tuple[str, ...]


class ManifestLesson(msgspec.Struct, frozen=True):
    """A lesson in a manifest."""

    lesson: LessonView
    preview: str
    gate: GateSummary | None


class ManifestMemory(msgspec.Struct, frozen=True):
    """A memory in a manifest."""

    item_id: str
    title: str
    preview: str
    similarity: float


class ManifestStats(msgspec.Struct, frozen=True):
    """Counts. `skipped` did not fit the budget; `stale` were named but are not active."""

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
    """A manifest, as sections and as one text; `context_id` identifies its ledger."""

    context_id: str
    text: str
    tokens: int
    lessons: tuple[ManifestLesson, ...]
    memories: tuple[ManifestMemory, ...]
    skills: tuple[EntrySummary, ...]
    personas: tuple[EntrySummary, ...]
    teams: tuple[EntrySummary, ...]
    stats: ManifestStats


class ManifestCandidates(msgspec.Struct):
    """The candidates for a manifest, before the token budget is applied."""

    lessons: list[ManifestLesson] = []
    listed: int = 0
    gate_skips: int = 0
    memories: list[SearchHit] = []
    memory_failures: int = 0
    crew: dict[Sort, list[EntrySummary]] = {}
    stale: int = 0
    notes: tuple[str, ...] = ()


def manifest_sections(found: ManifestCandidates, cut: int) -> tuple[PromptSection, ...]:
    """The candidates as prompt sections; those with the highest priority come first."""
    memories = _pieces(found.memories, lambda hit: _memory_piece(hit, cut))
    return (
        PromptSection(
            "lessons", "should", _pieces(found.lessons, _lesson_piece), "## Lessons", stays=4
        ),
        PromptSection("memories", "should", memories, "## Memories", stays=3),
        *(
            PromptSection(
                PLURALS[sort],
                "should" if sort == "skill" else "nice",
                _pieces(found.crew.get(sort, ()), _entry_piece),
                f"## {PLURALS[sort].capitalize()}",
                stays=2,
            )
            for sort in PLURALS
        ),
    )


def select_entries(
    used: Sequence[EntrySummary], named: Sequence[str] | None, paths: Sequence[str]
) -> tuple[list[EntrySummary], int]:
    """The active entries to show, and how many were named that are not active."""
    if named is None:
        return [each for each in used if _is_offered(each, paths)], 0
    known = {each.name: each for each in used}
    wanted = list(dict.fromkeys(named))
    return [known[name] for name in wanted if name in known], len(set(wanted) - known.keys())


class BuildRecord(msgspec.Struct, frozen=True):
    """When it was built, how many lessons failed to be recorded as shown, the preview length."""

    at: datetime
    failures: int
    cut: int


def build_manifest(
    found: ManifestCandidates, assembled: AssembledPrompt, context_id: str, took: BuildRecord
) -> Manifest:
    """The manifest of the candidates that fit the budget."""
    shown = included_keys(assembled)
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
        stats=ManifestStats(
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


def included_keys(assembled: AssembledPrompt) -> set[str]:
    """The keys of the pieces that fit the budget."""
    entries = (entry for section in assembled.ledger.sections for entry in section.entries)
    return {entry.key for entry in entries if not entry.left_out}


# -- helpers ---------------------------------------------------------------------------------------


def _is_offered(skill: EntrySummary, paths: Sequence[str]) -> bool:
    """Whether a skill is offered to the model: not if only the user or another path triggers it."""
    if skill.activation == "path-triggered" and paths:
        return any(_matches(path, pattern) for path in paths for pattern in skill.paths)
    return skill.activation != "user-triggered"


def _matches(path: str, pattern: str) -> bool:
    """Whether a path matches a glob pattern; `**/` also matches no folder at all."""
    return fnmatchcase(path, pattern) or fnmatchcase(path, pattern.replace("**/", ""))


def _pieces(things: Iterable[T], piece: Callable[[T], PromptPiece]) -> tuple[PromptPiece, ...]:
    return tuple(piece(thing) for thing in things)


def _lesson_piece(shown: ManifestLesson) -> PromptPiece:
    lesson = shown.lesson
    standing = (
        f"{lesson.status.value}, {_gate_summary(shown.gate)}" if shown.gate else lesson.status
    )
    words = ": ".join(part for part in (single_line(lesson.description), shown.preview) if part)
    text = f"- {words} ({standing}; {lesson.lesson_id})"
    return PromptPiece(lesson.lesson_id, text, (lesson.position,))


def _gate_summary(note: GateSummary) -> str:
    if not note.reasons:
        return "ready to be promoted"
    number = len(note.reasons)
    return f"not proven: {number} {'check' if number == 1 else 'checks'} open"


def _memory_piece(hit: SearchHit, cut: int) -> PromptPiece:
    shown = _shown_memory(hit, cut)
    words = (
        shown.preview
        if shown.preview.startswith(shown.title)
        else f"{shown.title}: {shown.preview}"
    )
    named = f"({hit.item.happened_at:%Y-%m-%d}, {shown.item_id}{format_expiry(hit.item)})"
    return PromptPiece(shown.item_id, f"- {words} {named}", (hit.item.version,))


def _shown_memory(hit: SearchHit, cut: int) -> ManifestMemory:
    item = hit.item
    return ManifestMemory(
        item.item_id, single_line(item.title), single_line(item.text)[:cut], hit.similarity
    )


def _entry_piece(each: EntrySummary) -> PromptPiece:
    name = each.name if each.title == each.name else f"{each.name} ({single_line(each.title)})"
    return PromptPiece(
        f"{each.sort}:{each.name}", f"- {name}: {single_line(each.description)}", (each.position,)
    )


def single_line(text: str) -> str:
    """The text on one line, so that stored text cannot begin a section of its own."""
    return " ".join(text.split())
