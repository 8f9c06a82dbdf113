"""Routes for a thread's history: timeline of summaries, prompts, branches and search."""

from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.routes.memories import RecallQuery
from everloop.interfaces.http.routes.threads import MessageOut
from everloop.interfaces.http.schemas.memories import WhyOut
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.log import visible
from everloop.memory import Filter, SearchQuery
from everloop.thread import (
    MarkDay,
    MessageFilter,
    compare_branches,
    find_thread,
    inspect_prompt,
    local_today,
    thread_branches,
    timeline_windows,
    zoom_window,
)

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["past"])

TierName = Literal["day", "week", "month", "year", "decade"]


class BandOut(ResponseBody):
    """A time window of the summary pyramid."""

    key: str
    tier: TierName
    first: date
    until: date
    messages: int
    state: str
    reason: str
    item_id: str
    text: str
    tokens: int
    shown: bool
    important: bool


class CloserOut(ResponseBody):
    """A time window, and the windows or messages that it summarises."""

    band: BandOut
    below: list[BandOut]
    messages: list[MessageOut]


class PieceOut(ResponseBody):
    """One piece of a prompt."""

    key: str
    tokens: int
    left_out: str
    positions: list[int]
    sort: str
    text: str


class SectionOut(ResponseBody):
    """One section of a prompt."""

    name: str
    tier: str
    tokens: int
    tokens_max: int
    pieces: list[PieceOut]


class SentTextOut(ResponseBody):
    """A text of a prompt as sent; null if something quoted in it was deleted.

    `system` is the system prompt, `tools` the definitions of the tools as JSON, and
    `before_message` what stood before the newest message.
    """

    name: str
    text: str | None


class CallOut(BaseModel):
    """A model call that used this prompt."""

    model: str
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_usd: float | None
    duration_s: float


class PromptOut(BaseModel):
    """The sections of a prompt, and the model calls that used it."""

    context_id: str
    tokens: int
    soft: int
    hard: int
    counted_by: str
    exact: bool
    sections: list[SectionOut]
    texts: list[SentTextOut]
    calls: list[CallOut]


class LineOut(ResponseBody):
    """A branch of a thread."""

    branch: str
    parent: str
    at: int
    standing: bool
    left_after: str
    newest: MessageOut | None
    own: int


class ComparedOut(ResponseBody):
    """A comparison of two branches: the last shared message, then each branch's own."""

    shared: MessageOut | None
    first: list[MessageOut]
    second: list[MessageOut]


class FoundOut(BaseModel):
    """A message that matches, and why."""

    message: MessageOut
    similarity: float
    source: str
    why: WhyOut


class SearchOut(BaseModel):
    """Search results. `notes` say what could not be searched."""

    hits: list[FoundOut]
    notes: list[str]


class Searched(RecallQuery):
    """A search query over messages."""

    thread_id: Annotated[str, Field(max_length=100)] = ""
    role: Literal["", "user", "assistant"] = ""
    limit: Annotated[int, Field(ge=1, le=500)] = 10


class Mark(BaseModel):
    """Whether a day is important."""

    important: bool


@router.get("/threads/{thread_id}/timeline")
def timeline(
    thread_id: str,
    deps: Deps,
    tier: Annotated[list[TierName], Query(max_length=5)] = ["month", "week", "day"],  # noqa: B006 - copied
) -> list[BandOut]:
    """List a thread's non-empty time windows, oldest first."""
    engine = deps.engine
    day = local_today(engine.log, engine.ports.clock)
    with engine.reading() as reader:
        find_thread(reader, thread_id)
        found = timeline_windows(reader, thread_id, day, tier)
    return [BandOut.model_validate(band) for band in found]


@router.get("/threads/{thread_id}/windows/{key}")
def window(thread_id: str, key: str, deps: Deps) -> CloserOut:
    """One time window with the windows one tier below; for a day, its messages."""
    engine = deps.engine
    day = local_today(engine.log, engine.ports.clock)
    with engine.reading() as reader:
        return CloserOut.model_validate(zoom_window(reader, thread_id, day, key))


@router.put("/threads/{thread_id}/days/{day}", status_code=204)
def mark(thread_id: str, day: date, marked: Mark, deps: Deps, by: ActorDep) -> None:
    """Mark a day as important, or not."""
    deps.engine.do(MarkDay(thread_id, day.isoformat(), marked.important), by=by)


@router.get("/contexts/{context_id}")
def prompt(context_id: str, deps: Deps) -> PromptOut:
    """The content of a prompt, and what was left out and why."""
    with deps.engine.reading() as reader:
        opened, calls = inspect_prompt(reader, context_id), reader.rows(_CALLS, (context_id,))
    names = list(CallOut.model_fields)
    model_calls = [CallOut(**dict(zip(names, row, strict=True))) for row in calls]
    return PromptOut(
        context_id=opened.context_id,
        tokens=opened.tokens,
        soft=opened.soft,
        hard=opened.hard,
        counted_by=opened.counted_by,
        exact=opened.exact,
        sections=[SectionOut.model_validate(one) for one in opened.sections],
        texts=[SentTextOut.model_validate(one) for one in opened.texts],
        calls=model_calls,
    )


@router.get("/threads/{thread_id}/branches")
def branches(thread_id: str, deps: Deps) -> list[LineOut]:
    """List the branches of a thread."""
    return [LineOut.model_validate(line) for line in thread_branches(deps.engine.log, thread_id)]


@router.get("/threads/{thread_id}/branches/compare")
def compare(thread_id: str, first: str, second: str, deps: Deps) -> ComparedOut:
    """Compare two branches from the point where they diverge."""
    found = compare_branches(deps.engine.log, thread_id, first, second)
    return ComparedOut.model_validate(found)


@router.get("/search")
def search(deps: Deps, wanted: Annotated[Searched, Query()]) -> SearchOut:
    """Search messages by keyword, meaning, date, thread and author."""
    chosen = wanted.to_filter()
    only = Filter(since=chosen.since, before=chosen.before)
    asked = SearchQuery(wanted.query, wanted.limit, wanted.mode, only)
    answer = deps.running.talk.search(asked, MessageFilter(wanted.thread_id, wanted.role))
    hits = [
        FoundOut(
            message=MessageOut.model_validate(one.message),
            similarity=one.hit.similarity,
            source=one.hit.source,
            why=WhyOut.model_validate(one.hit.why),
        )
        for one in answer.found
    ]
    return SearchOut(hits=hits, notes=list(answer.notes))


_CALLS = f"""
SELECT c.model, c.tokens_in, c.tokens_out, c.tokens_cached, nullif(c.cost_usd, -1), c.duration_s
FROM thread_turns t JOIN thread_calls c ON c.turn_id = t.turn_id AND c.turn_id <> ''
WHERE t.context_id = ? AND {visible("c")} ORDER BY c.position
"""  # noqa: S608 - our own condition
