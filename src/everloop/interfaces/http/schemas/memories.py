"""Memories as HTTP shows them: an item, an answer with its reasons, all that is known of one."""

from datetime import datetime

from pydantic import BaseModel

from everloop.interfaces.http.schemas.response import Shown
from everloop.memory.browse.snippet import snippet
from everloop.memory.retrieval.grouping import Abreast
from everloop.memory.retrieval.results import Recalled


class OriginOut(Shown):
    """Where an item came from."""

    host: str
    session: str
    model: str
    folder: str


class ItemOut(Shown):
    """A memory. `version` is where it was given the words it has now."""

    position: int
    version: int
    item_id: str
    title: str
    text: str
    kind: str
    scope: str
    author: str
    origin: OriginOut
    learned_via: str
    happened_at: datetime
    recorded_at: datetime
    holds_until: datetime | None
    witnesses: list[str]
    significance: int
    pinned: bool
    retired: bool
    derived_from: list[str]
    contradicts: list[str]
    repeats: int


class ItemsOut(Shown):
    """Some memories, and how many there are in all."""

    items: list[ItemOut]
    total: int


class LegOut(Shown):
    """What one leg of recall found."""

    leg: str
    rank: int
    similarity: float
    points: float


class WhyOut(Shown):
    """Why an item ranks where it does."""

    rank: int
    points: float
    legs: list[LegOut]
    boosts: list[tuple[str, float]]


class PartOut(Shown):
    """A piece of a text, and whether it was looked for."""

    text: str
    found: bool


class HitOut(Shown):
    """A memory that was found, and the part of it that the question is about."""

    item: ItemOut
    similarity: float
    source: str
    why: WhyOut
    shown: list[PartOut]


class GroupOut(Shown):
    """Hits that belong side by side, because they contradict each other; the newest first."""

    hits: list[HitOut]
    contradictory: bool


class AnswerOut(Shown):
    """What memory has to say, and what it could not do."""

    groups: list[GroupOut]
    notes: list[str]


class VersionOut(Shown):
    """What an item said from then on."""

    position: int
    title: str
    text: str
    scope: str
    by: str
    at: datetime


class RepeatOut(Shown):
    """The same, said again."""

    position: int
    text: str
    similarity: float
    by: str
    at: datetime


class LinkOut(Shown):
    """Who stands on an item."""

    citer: str
    by_user: bool
    since: datetime
    until: datetime | None


class LifeOut(Shown):
    """An item and all that is known about it."""

    item: ItemOut
    because: list[int]
    versions: list[VersionOut]
    repeats: list[RepeatOut]
    citations: list[LinkOut]
    contradictions: list[ItemOut]
    variants: list[ItemOut]
    retired_because: str


class ChangedOut(LifeOut):
    """An item after a change, and where the change was recorded: retract these to undo it."""

    done: list[int]


class StandsOut(BaseModel):
    """Who stands on an item now."""

    cited_by: list[LinkOut]
    needs_force: bool


class ZoomedOut(Shown):
    """An item met on the way down, and how far down."""

    depth: int
    item: ItemOut


class StepOut(Shown):
    """One gate on an item's way to an answer."""

    gate: str
    state: str
    sentence: str


class PathOut(Shown):
    """The way of an item to an answer, and where it stopped."""

    item: ItemOut | None
    steps: list[StepOut]
    found: bool


class KeptOut(Shown):
    """What became of something to remember."""

    item_id: str
    new: bool
    position: int
    contradicts: list[str]
    varies: str


class ReadingOut(BaseModel):
    """How far memories are read for their meaning, and what keeps it from going on."""

    embedder: str
    done: int
    total: int
    problem: str


def group_out(group: Abreast, query: str) -> GroupOut:
    """Hits that belong side by side, each with the part that a question is about."""
    hits = [_hit_out(hit, query) for hit in group.hits]
    return GroupOut(hits=hits, contradictory=group.contradictory)


def _hit_out(hit: Recalled, query: str) -> HitOut:
    parts = snippet(hit.item.text, query).parts()
    return HitOut(
        item=ItemOut.model_validate(hit.item),
        similarity=hit.similarity,
        source=hit.source,
        why=WhyOut.model_validate(hit.why),
        shown=[PartOut(text=text, found=found) for text, found in parts],
    )
