"""Routes for memories: list, remember, edit, retire, search with explanations, retract."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from everloop.errors import Forbidden, Invalid
from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.memories import (
    AnswerOut,
    ChangedOut,
    ItemOut,
    ItemsOut,
    KeptOut,
    LifeOut,
    LinkOut,
    PathOut,
    ReadingOut,
    StandsOut,
    ZoomedOut,
    group_out,
    hit_out,
)
from everloop.interfaces.http.schemas.request import Body
from everloop.interfaces.http.schemas.response import DoneOut, ImpactOut, impact_out
from everloop.log import Command, execute_once, retract_once
from everloop.memory import (
    MEMORY_TRACES,
    OWNER,
    Filter,
    PinItem,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
    SearchQuery,
    UnpinItem,
    check_scope,
    explain_item,
    group_contradictions,
    item_history,
    load_viewer,
    open_citations,
    page_by_time,
    remember_once,
    zoom,
)

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["memory"])

Mode = Literal["text", "semantic", "hybrid"]
ACCESS_KINDS = "access."  # retracting a revocation would give a device access again
Position = Annotated[int, Path(ge=1, le=2**53)]


class MemoryFilterQuery(BaseModel):
    """Filter of memories; by default everything."""

    scope: Annotated[list[str], Field(max_length=20)] = []
    kind: Annotated[list[str], Field(max_length=20)] = []
    since: datetime | None = None
    before: datetime | None = None
    limit: Annotated[int, Field(ge=1, le=500)] = 50

    def to_filter(self, *, retired: bool = False) -> Filter:
        """The filter as a query of the memory."""
        since, before = _aware(self.since), _aware(self.before)
        scopes = tuple(check_scope(scope) for scope in self.scope)
        return Filter(scopes, (), tuple(self.kind), since, before, retired)


class Listing(MemoryFilterQuery):
    """Which memories to list."""

    pinned: bool = False
    retired: bool = False
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0


class RecallQuery(MemoryFilterQuery):
    """A search query."""

    query: Annotated[str, Field(min_length=1, max_length=2_000)]
    mode: Mode = "hybrid"
    limit: Annotated[int, Field(ge=1, le=100)] = 10


class New(Body):
    """Something to remember. The same `request_id` twice remembers it once."""

    text: Annotated[str, Field(min_length=1, max_length=100_000)]
    title: Annotated[str, Field(max_length=280)] = ""
    scope: Annotated[str, Field(max_length=120)] = "user"


class Change(Body):
    """Changes to a memory; absent fields stay as they are. A `request_id` is for one change.

    `base` is the `version` that you saw: if the text is newer by now, nothing is changed (409).
    """

    text: Annotated[str | None, Field(min_length=1, max_length=100_000)] = None
    title: Annotated[str | None, Field(max_length=280)] = None
    scope: Annotated[str | None, Field(max_length=120)] = None
    base: Annotated[int | None, Field(ge=1, le=2**53)] = None
    significance: Annotated[int | None, Field(ge=0, le=3)] = None
    pinned: bool | None = None


class RetireIn(Body):
    """Why a memory is retired. `force` is required if something the user wrote cites it."""

    reason: Annotated[str, Field(max_length=500)] = ""
    force: bool = False


@router.get("/memories")
def memories(deps: Deps, wanted: Annotated[Listing, Query()]) -> ItemsOut:
    """List memories by the time they happened, newest first."""
    only = wanted.to_filter(retired=wanted.retired)
    with deps.engine.reading() as reader:
        items, total = page_by_time(
            reader,
            load_viewer(reader, OWNER),
            only,
            pinned=wanted.pinned,
            limit=wanted.limit,
            offset=wanted.offset,
        )
    return ItemsOut(items=[ItemOut.model_validate(item) for item in items], total=total)


@router.post("/memories", status_code=201)
def remember(new: New, deps: Deps, by: ActorDep) -> KeptOut:
    """Remember something. A duplicate of an existing memory is not stored twice."""
    item, memory = RememberItem("", new.text, new.title, scope=new.scope), deps.engine.memory
    if not new.request_id:
        return KeptOut.model_validate(memory.remember(item, by=by))
    return KeptOut.model_validate(remember_once(memory, item, by=by, request_id=new.request_id))


@router.get("/memories/{item_id}")
def one_memory(item_id: str, deps: Deps) -> LifeOut:
    """A memory with its versions, repeats, citations, contradictions and variants."""
    with deps.engine.reading() as reader:
        return LifeOut.model_validate(item_history(reader, load_viewer(reader, OWNER), item_id))


@router.patch("/memories/{item_id}")
def change(item_id: str, change: Change, deps: Deps, by: ActorDep) -> ChangedOut:
    """Edit, rate or pin a memory. Changes without effect are not recorded."""
    wanted: list[Command] = []
    if not (change.text is None and change.title is None and change.scope is None):
        words = (change.title, change.text, change.scope)
        wanted.append(ReviseItem(item_id, *words, base=change.base))
    elif change.base is not None:
        raise Invalid("`base` needs a change of text", hint="Send text, title or scope with it.")
    if change.significance is not None:
        wanted.append(RateItem(item_id, change.significance))
    if change.pinned is not None:
        wanted.append((PinItem if change.pinned else UnpinItem)(item_id))
    receipts = [
        execute_once(deps.engine, command, MEMORY_TRACES, by=by, request_id=change.request_id)
        for command in wanted
    ]
    # The other facts of a receipt depend on the first one, and are retracted with it.
    done = [receipt.facts[0].position for receipt in receipts if receipt.facts]
    return ChangedOut(**dict(one_memory(item_id, deps)), done=done)


@router.get("/memories/{item_id}/retirement")
def preview_retire(item_id: str, deps: Deps) -> StandsOut:
    """Preview retiring a memory: what cites it, and whether `force` is required."""
    with deps.engine.reading() as reader:
        links = open_citations(reader, load_viewer(reader, OWNER), item_id)
    return StandsOut(
        cited_by=[LinkOut.model_validate(link) for link in links],
        needs_force=any(link.by_user for link in links),
    )


@router.post("/memories/{item_id}/retirement")
def retire(item_id: str, body: RetireIn, deps: Deps, by: ActorDep) -> DoneOut:
    """Retire a memory, so that search skips it. Retract the position to undo."""
    command = RetireItem(item_id, body.reason, body.force)
    request_id = body.request_id
    done = execute_once(deps.engine, command, MEMORY_TRACES, by=by, request_id=request_id)
    return DoneOut(position=done.position)


@router.get("/memories/{item_id}/below")
def below(item_id: str, deps: Deps) -> list[ZoomedOut]:
    """The memories that a summary was made from, at every level."""
    with deps.engine.reading() as reader:
        found = zoom(reader, load_viewer(reader, OWNER), item_id)
    return [ZoomedOut.model_validate(one) for one in found]


@router.get("/recall")
def recall(deps: Deps, wanted: Annotated[RecallQuery, Query()]) -> AnswerOut:
    """Search memories by keyword and meaning, with an explanation of each rank."""
    asked = SearchQuery(wanted.query, wanted.limit, wanted.mode, wanted.to_filter())
    answer = deps.engine.memory.recall(OWNER, asked)
    groups = [group_out(group, wanted.query) for group in group_contradictions(answer.hits)]
    closest = [hit_out(hit, wanted.query) for hit in answer.closest]
    return AnswerOut(groups=groups, notes=list(answer.notes), closest=closest)


@router.get("/reading")
def reading(deps: Deps) -> ReadingOut:
    """Progress of embedding memories for semantic search; 0 of 0 when all are embedded.

    Memories that are not embedded yet are found by keywords only.
    """
    space, embedding = deps.engine.memory.memory.vector_index, deps.running.embedding
    done, total = embedding.progress if embedding else (0, 0)
    problem = embedding.problem if embedding else None
    return ReadingOut(
        embedder=space.embedder.name if space else "",
        done=done,
        total=total,
        problem=str(problem) if problem else "",
    )


@router.get("/memories/{item_id}/path")
def why(
    item_id: str,
    deps: Deps,
    query: Annotated[str, Query(min_length=1, max_length=2_000)],
    principal: Annotated[str, Query(max_length=100)] = OWNER,
    mode: Mode = "hybrid",
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> PathOut:
    """Explain why a search finds a memory, or at which step it was dropped."""
    asked = SearchQuery(query, limit, mode)
    return PathOut.model_validate(
        explain_item(deps.engine.memory, OWNER, principal, item_id, asked)
    )


@router.get("/retractions/{position}")
def preview(position: Position, deps: Deps) -> ImpactOut:
    """Preview retracting a fact."""
    return impact_out(deps.engine.log.preview_retract([position]))


@router.post("/retractions/{position}")
def retract(position: Position, body: RetireIn, deps: Deps, by: ActorDep) -> DoneOut:
    """Retract a fact and everything derived from it.

    Returns the position of the retraction; retract that to undo it.
    """
    log = deps.engine.log
    if log.record(position).kind.startswith(ACCESS_KINDS):
        raise Forbidden(
            "facts about device access cannot be retracted", hint="Revoke or rename the device."
        )
    done = retract_once(log, position, body.reason, by=by, request_id=body.request_id)
    return DoneOut(position=done.position)


def _aware(at: datetime | None) -> datetime | None:
    """A time with its zone; without one, this machine's zone."""
    if at is None:
        return None
    if not 1970 < at.year < 9999:
        raise Invalid(f"{at.isoformat()} is out of range", hint="Use a year from 1971 to 9998.")
    return at.astimezone()
