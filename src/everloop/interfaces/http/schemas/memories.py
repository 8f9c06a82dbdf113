"""Response bodies about memories: items, search results with explanations, item history."""

from datetime import datetime

from pydantic import BaseModel

from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.memory import ContradictionGroup, SearchHit, snippet


class OriginOut(ResponseBody):
    """Where an item came from."""

    host: str
    session: str
    model: str
    folder: str


class ItemOut(ResponseBody):
    """A memory. `version` is the log position that set its current text.

    `revised_by` is who wrote that version, if it was not the author.
    """

    position: int
    version: int
    item_id: str
    title: str
    text: str
    kind: str
    scope: str
    author: str
    revised_by: str
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


class ItemsOut(ResponseBody):
    """One page of memories, and the total number."""

    items: list[ItemOut]
    total: int


class LegOut(ResponseBody):
    """The rank and score that one retriever (keyword, semantic, …) gave an item."""

    leg: str
    rank: int
    similarity: float
    points: float


class WhyOut(ResponseBody):
    """Explanation of an item's rank: scores by retriever, and boosts."""

    rank: int
    points: float
    legs: list[LegOut]
    boosts: list[tuple[str, float]]


class PartOut(ResponseBody):
    """A piece of a snippet, and whether it matches the query."""

    text: str
    found: bool


class HitOut(ResponseBody):
    """A memory that matches, with the snippet of it that matches best."""

    item: ItemOut
    similarity: float
    source: str
    why: WhyOut
    shown: list[PartOut]


class GroupOut(ResponseBody):
    """One hit, or several that contradict each other, newest first."""

    hits: list[HitOut]
    contradictory: bool


class AnswerOut(ResponseBody):
    """Search results. `notes` say what could not be searched.

    If nothing fits the question well enough, there are no groups, and `closest` has what comes
    nearest.
    """

    groups: list[GroupOut]
    notes: list[str]
    closest: list[HitOut]


class MemoryVersionOut(ResponseBody):
    """A version of an item's text."""

    position: int
    title: str
    text: str
    scope: str
    by: str
    at: datetime


class RepeatOut(ResponseBody):
    """A near duplicate that was counted as a repeat instead of stored."""

    position: int
    text: str
    similarity: float
    by: str
    at: datetime


class LinkOut(ResponseBody):
    """A citation of an item, and who cites it."""

    citer: str
    by_user: bool
    since: datetime
    until: datetime | None


class LifeOut(ResponseBody):
    """An item with its history: versions, repeats, citations, contradictions and variants."""

    item: ItemOut
    because: list[int]
    versions: list[MemoryVersionOut]
    repeats: list[RepeatOut]
    citations: list[LinkOut]
    contradictions: list[ItemOut]
    variants: list[ItemOut]
    retired_because: str


class ChangedOut(LifeOut):
    """An item after a change. `done` are the log positions to retract to undo the change."""

    done: list[int]


class StandsOut(BaseModel):
    """Current citations of an item; `needs_force` if the user wrote one of them."""

    cited_by: list[LinkOut]
    needs_force: bool


class ZoomedOut(ResponseBody):
    """An item that a summary was made from, and its depth below the summary."""

    depth: int
    item: ItemOut


class StepOut(ResponseBody):
    """One step of the search, and what it did with an item."""

    gate: str
    state: str
    sentence: str


class PathOut(ResponseBody):
    """Explanation of why a search finds an item, or at which step it was dropped."""

    item: ItemOut | None
    steps: list[StepOut]
    found: bool


class KeptOut(ResponseBody):
    """The result of remembering something: a new item, or the one that already says it."""

    item_id: str
    new: bool
    position: int
    contradicts: list[str]
    varies: str


class ReadingOut(BaseModel):
    """Progress of embedding memories for semantic search, and the problem that stops it."""

    embedder: str
    done: int
    total: int
    problem: str


def group_out(group: ContradictionGroup, query: str) -> GroupOut:
    """A group of hits as a response body, each with its snippet."""
    hits = [hit_out(hit, query) for hit in group.hits]
    return GroupOut(hits=hits, contradictory=group.contradictory)


def hit_out(hit: SearchHit, query: str) -> HitOut:
    """A hit as a response body, with its snippet."""
    parts = snippet(hit.item.text, query).parts()
    return HitOut(
        item=ItemOut.model_validate(hit.item),
        similarity=hit.similarity,
        source=hit.source,
        why=WhyOut.model_validate(hit.why),
        shown=[PartOut(text=text, found=found) for text, found in parts],
    )
