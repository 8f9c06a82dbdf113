"""Memory: items, recall that explains itself, why and why not, zoom."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from everloop.errors import Forbidden, Invalid
from everloop.interfaces.http.dependencies import HouseDep, SpeakerDep
from everloop.interfaces.http.errors import PROBLEMS
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
)
from everloop.interfaces.http.schemas.request import Body
from everloop.interfaces.http.schemas.response import DoneOut, ImpactOut, impact_out
from everloop.log import Command
from everloop.log.idempotency import do_once, retract_once
from everloop.memory.browse import queries
from everloop.memory.explain import path
from everloop.memory.idempotent_requests import MEMORY_TRACES, remember_once
from everloop.memory.model.commands import (
    PinItem,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
    UnpinItem,
)
from everloop.memory.model.scopes import OWNER, check_scope
from everloop.memory.projections.citations import standing
from everloop.memory.projections.queries import Filter, asker
from everloop.memory.retrieval.grouping import side_by_side
from everloop.memory.retrieval.results import Asked
from everloop.memory.summaries.zoom import zoom

router = APIRouter(prefix="/api", responses=PROBLEMS, tags=["memory"])

Mode = Literal["text", "semantic", "hybrid"]
ACCESS = "access."  # a retracted revocation would let a device in again
Position = Annotated[int, Path(ge=1, le=2**53)]


class Among(BaseModel):
    """What to look among; nothing said: everything."""

    scope: Annotated[list[str], Field(max_length=20)] = []
    kind: Annotated[list[str], Field(max_length=20)] = []
    since: datetime | None = None
    before: datetime | None = None
    limit: Annotated[int, Field(ge=1, le=500)] = 50

    def only(self, *, retired: bool = False) -> Filter:
        """The same, as memory takes it."""
        since, before = _aware(self.since), _aware(self.before)
        scopes = tuple(check_scope(scope) for scope in self.scope)
        return Filter(scopes, (), tuple(self.kind), since, before, retired)


class Listing(Among):
    """Which memories to list."""

    pinned: bool = False
    retired: bool = False
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0


class Question(Among):
    """What to recall."""

    query: Annotated[str, Field(min_length=1, max_length=2_000)]
    mode: Mode = "hybrid"
    limit: Annotated[int, Field(ge=1, le=100)] = 10


class New(Body):
    """Something to remember. The same `request_id` twice remembers it once."""

    text: Annotated[str, Field(min_length=1, max_length=100_000)]
    title: Annotated[str, Field(max_length=280)] = ""
    scope: Annotated[str, Field(max_length=120)] = "user"


class Change(Body):
    """What to change of a memory; what is absent stays. A `request_id` is for one change.

    `base` is the `version` that was seen: if the memory has newer words by now, nothing changes.
    """

    text: Annotated[str | None, Field(min_length=1, max_length=100_000)] = None
    title: Annotated[str | None, Field(max_length=280)] = None
    scope: Annotated[str | None, Field(max_length=120)] = None
    base: Annotated[int | None, Field(ge=1, le=2**53)] = None
    significance: Annotated[int | None, Field(ge=0, le=3)] = None
    pinned: bool | None = None


class Letting(Body):
    """Why an item is let go; `force` is needed where something you wrote stands on it."""

    reason: Annotated[str, Field(max_length=500)] = ""
    force: bool = False


@router.get("/memories")
def memories(house: HouseDep, wanted: Annotated[Listing, Query()]) -> ItemsOut:
    """Memories by the time they happened, newest first."""
    only = wanted.only(retired=wanted.retired)
    with house.engine.reading() as reader:
        items, total = queries.page(
            reader,
            asker(reader, OWNER),
            only,
            pinned=wanted.pinned,
            limit=wanted.limit,
            offset=wanted.offset,
        )
    return ItemsOut(items=[ItemOut.model_validate(item) for item in items], total=total)


@router.post("/memories", status_code=201)
def remember(new: New, house: HouseDep, by: SpeakerDep) -> KeptOut:
    """Remember something. What says the same already is not stored twice."""
    item, keeper = RememberItem("", new.text, new.title, scope=new.scope), house.engine.memory
    if not new.request_id:
        return KeptOut.model_validate(keeper.remember(item, by=by))
    return KeptOut.model_validate(remember_once(keeper, item, by=by, request_id=new.request_id))


@router.get("/memories/{item_id}")
def one_memory(item_id: str, house: HouseDep) -> LifeOut:
    """A memory with its versions, repeats, citations, contradictions and variants."""
    with house.engine.reading() as reader:
        return LifeOut.model_validate(queries.life(reader, asker(reader, OWNER), item_id))


@router.patch("/memories/{item_id}")
def change(item_id: str, change: Change, house: HouseDep, by: SpeakerDep) -> ChangedOut:
    """Revise, rate, pin. What is so already is not recorded."""
    wanted: list[Command] = []
    if not (change.text is None and change.title is None and change.scope is None):
        words = (change.title, change.text, change.scope)
        wanted.append(ReviseItem(item_id, *words, base=change.base))
    elif change.base is not None:
        raise Invalid("`base` says nothing without words", hint="Give text, title or scope, too.")
    if change.significance is not None:
        wanted.append(RateItem(item_id, change.significance))
    if change.pinned is not None:
        wanted.append((PinItem if change.pinned else UnpinItem)(item_id))
    receipts = [
        do_once(house.engine.do, command, MEMORY_TRACES, by=by, request_id=change.request_id)
        for command in wanted
    ]
    # What else a receipt tells stands on its first fact, and goes with it.
    done = [receipt.facts[0].position for receipt in receipts if receipt.facts]
    return ChangedOut(**dict(one_memory(item_id, house)), done=done)


@router.get("/memories/{item_id}/retirement")
def preview_retire(item_id: str, house: HouseDep) -> StandsOut:
    """Who stands on a memory that would step back, and whether that needs `force`."""
    with house.engine.reading() as reader:
        links = standing(reader, asker(reader, OWNER), item_id)
    return StandsOut(
        cited_by=[LinkOut.model_validate(link) for link in links],
        needs_force=any(link.by_user for link in links),
    )


@router.post("/memories/{item_id}/retirement")
def retire(item_id: str, letting: Letting, house: HouseDep, by: SpeakerDep) -> DoneOut:
    """Let a memory step back. Recall passes over it; retract this to undo it."""
    command = RetireItem(item_id, letting.reason, letting.force)
    request_id = letting.request_id
    done = do_once(house.engine.do, command, MEMORY_TRACES, by=by, request_id=request_id)
    return DoneOut(position=done.position)


@router.get("/memories/{item_id}/below")
def below(item_id: str, house: HouseDep) -> list[ZoomedOut]:
    """What a memory was made of, all the way down."""
    with house.engine.reading() as reader:
        found = zoom(reader, asker(reader, OWNER), item_id)
    return [ZoomedOut.model_validate(one) for one in found]


@router.get("/recall")
def recall(house: HouseDep, wanted: Annotated[Question, Query()]) -> AnswerOut:
    """Memories by words and meaning, each with why it ranks where it does."""
    asked = Asked(wanted.query, wanted.limit, wanted.mode, wanted.only())
    answer = house.engine.memory.recall(OWNER, asked)
    groups = [group_out(group, wanted.query) for group in side_by_side(answer.hits)]
    return AnswerOut(groups=groups, notes=list(answer.notes))


@router.get("/reading")
def reading(house: HouseDep) -> ReadingOut:
    """How far memories are read for their meaning: nothing of nothing, if all of them are.

    Until then, words alone find some of them.
    """
    space, beside = house.engine.memory.memory.space, house.running.embedding
    done, total = beside.progress if beside else (0, 0)
    problem = beside.problem if beside else None
    return ReadingOut(
        embedder=space.embedder.name if space else "",
        done=done,
        total=total,
        problem=str(problem) if problem else "",
    )


@router.get("/memories/{item_id}/path")
def why(
    item_id: str,
    house: HouseDep,
    query: Annotated[str, Query(min_length=1, max_length=2_000)],
    principal: Annotated[str, Query(max_length=100)] = OWNER,
    mode: Mode = "hybrid",
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> PathOut:
    """The way of a memory to the answer of a question, and where it stopped."""
    asked = Asked(query, limit, mode)
    return PathOut.model_validate(path(house.engine.memory, OWNER, principal, item_id, asked))


@router.get("/retractions/{position}")
def preview(position: Position, house: HouseDep) -> ImpactOut:
    """What retracting a fact would change."""
    return impact_out(house.engine.log.preview_retract([position]))


@router.post("/retractions/{position}")
def retract(position: Position, letting: Letting, house: HouseDep, by: SpeakerDep) -> DoneOut:
    """Make a fact, and all that came from it, stop counting.

    The answer is the position of the retraction: retract that to undo it.
    """
    log = house.engine.log
    if log.record(position).kind.startswith(ACCESS):
        raise Forbidden("who is let in is not retracted", hint="Revoke or rename the device.")
    done = retract_once(log, position, letting.reason, by=by, request_id=letting.request_id)
    return DoneOut(position=done.position)


def _aware(at: datetime | None) -> datetime | None:
    """A time with its zone; without one, that of this machine."""
    if at is None:
        return None
    if not 1970 < at.year < 9999:
        raise Invalid(f"{at.isoformat()} is out of reach", hint="Use a year from 1971 to 9998.")
    return at.astimezone()
