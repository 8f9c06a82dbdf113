"""Skills, personas and teams, whom you trust to pass on your words, and the manifest."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from everloop.errors import NotFound
from everloop.interfaces.http.answers import PROBLEMS
from everloop.interfaces.http.house import HouseDep, SpeakerDep
from everloop.interfaces.http.shown import Shown
from everloop.lessons.manifest import Wish
from everloop.memory.scopes import OWNER

router = APIRouter(prefix="/api", responses=PROBLEMS, tags=["crew"])


class EntryOut(Shown):
    """A skill, a persona or a team in a list."""

    position: int
    sort: str
    name: str
    title: str
    description: str
    activation: str
    paths: list[str]
    scope: str
    author: str
    actor: str
    pack_id: str
    written_at: datetime
    status: str


class HostOut(Shown):
    """Whether a host may pass on the user's words."""

    host: str
    trusted: bool
    since: datetime


class Trust(BaseModel):
    """Whether a host may pass on the user's words."""

    trusted: bool


class ManifestOut(Shown):
    """What a host's model is told at the beginning of a turn; `context_id` leads to its ledger."""

    context_id: str
    text: str
    tokens: int


@router.get("/crew/{sort}")
def crew(
    sort: Literal["skill", "persona", "team"],
    house: HouseDep,
    status: Annotated[list[Literal["draft", "active", "archived"]], Query()] = ["draft", "active"],  # noqa: B006 - FastAPI copies it
) -> list[EntryOut]:
    """The skills, personas or teams, by name."""
    found = house.engine.crew.headlines(OWNER, sort, tuple(status))
    return [EntryOut.model_validate(one) for one in found]


@router.get("/hosts")
def hosts(house: HouseDep) -> list[HostOut]:
    """Whom you trust to pass on your words, and whom not."""
    return [HostOut.model_validate(host) for host in house.engine.lessons.hosts()]


@router.put("/hosts/{host}")
def trust(host: str, trust: Trust, house: HouseDep, by: SpeakerDep) -> HostOut:
    """Let a host pass on your words, or let it no longer."""
    act = house.engine.lessons.trust if trust.trusted else house.engine.lessons.distrust
    act(host, by=by)
    known = next((one for one in house.engine.lessons.hosts() if one.host == host), None)
    if known is None:
        raise NotFound(f"{host!r} was never trusted", hint="There is nothing to take back.")
    return HostOut.model_validate(known)


class Wanted(BaseModel):
    """What a manifest is to be about."""

    query: Annotated[str, Field(max_length=2_000)] = ""


@router.post("/manifest")
def manifest(wanted: Wanted, house: HouseDep, by: SpeakerDep) -> ManifestOut:
    """What a host's model would be told now. It is kept, as every prompt is."""
    wish = Wish(memory_query=wanted.query, record=False)
    return ManifestOut.model_validate(house.engine.herald.manifest(wish, by=by))
