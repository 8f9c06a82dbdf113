"""Routes of what people of a world remember: how significant it is, and what is pinned."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.routes.worlds.idempotency import PlayerDep
from everloop.interfaces.http.schemas.request import Body
from everloop.interfaces.http.schemas.world_memories import (
    RatedOut,
    WorldMemoriesOut,
    WorldMemoryOut,
)
from everloop.worlds import WorldMemory

router = APIRouter(
    prefix="/api/worlds/{world_id}/memories", responses=ERROR_RESPONSES, tags=["worlds"]
)

PAGE_MAX = 200
BULK_MAX = 1_000


class RatingIn(Body):
    """How significant memories are: 0 routine, 1 notable, 2 significant, 3 pivotal."""

    item_ids: Annotated[
        tuple[Annotated[str, Field(max_length=200)], ...], Field(min_length=1, max_length=BULK_MAX)
    ]
    significance: Annotated[int, Field(ge=0, le=3)]


class PinIn(Body):
    """Whether a memory is pinned."""

    pinned: bool


@router.get("")
def memories(
    world_id: str,
    deps: Deps,
    who: Annotated[str, Query(max_length=100)] = "",
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> WorldMemoriesOut:
    """What is remembered in a world, newest first: all of it, or by one person."""
    worlds = deps.engine.worlds
    worlds.world(world_id)
    found = worlds.memories.listed(world_id, who, limit=limit + 1, offset=offset)
    return WorldMemoriesOut(memories=[_out(one) for one in found[:limit]], more=len(found) > limit)


@router.put("/significance")
def rate(world_id: str, rating: RatingIn, deps: Deps, by: PlayerDep) -> RatedOut:
    """Rate many memories of a world at once."""
    worlds = deps.engine.worlds
    worlds.world(world_id)
    rated = worlds.memories.rate_in(world_id, rating.item_ids, rating.significance, by)
    return RatedOut(rated=rated)


@router.put("/{item_id}/pin")
def pin(world_id: str, item_id: str, wanted: PinIn, deps: Deps, by: PlayerDep) -> WorldMemoryOut:
    """Pin a memory, or take its pin away. What is pinned is recalled before the rest."""
    worlds = deps.engine.worlds
    worlds.world(world_id)
    return _out(worlds.memories.pin(world_id, item_id, by, pinned=wanted.pinned))


def _out(one: WorldMemory) -> WorldMemoryOut:
    return WorldMemoryOut.model_validate(one)
