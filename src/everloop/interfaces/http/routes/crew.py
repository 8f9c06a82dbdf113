"""Skills, personas and teams, whom you trust to pass on your words, and the manifest."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from everloop.errors import NotFound
from everloop.interfaces.http.dependencies import HouseDep, SpeakerDep
from everloop.interfaces.http.errors import PROBLEMS
from everloop.interfaces.http.schemas.response import Shown
from everloop.lessons.crew.events import Skill, Team
from everloop.lessons.crew.queries import Whole
from everloop.lessons.manifest.manifest import Wish
from everloop.memory.model.scopes import OWNER

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


class MemberOut(Shown):
    """Someone or something in a team."""

    sort: Literal["persona", "skill", "user"]
    id: str


class ImprovementOut(Shown):
    """A promoted lesson that was meant for a skill."""

    lesson_id: str
    promoted_at: datetime
    trigger: str
    author: str


class WholeEntryOut(BaseModel):
    """A skill, a persona or a team with all that it says.

    A skill's `files` are named, a team's `members` are listed, `evidence` are ids of memories, and
    `history` holds the lessons that made a skill better, oldest first.
    """

    headline: EntryOut
    body: str
    when_to_use: str
    allowed_tools: list[str]
    files: list[str]
    members: list[MemberOut]
    evidence: list[str]
    history: list[ImprovementOut]


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


@router.get("/crew/{sort}/{name}")
def crew_entry(
    sort: Literal["skill", "persona", "team"], name: str, house: HouseDep
) -> WholeEntryOut:
    """One skill, persona or team with all that it says, also an archived one."""
    return _whole(house.engine.crew.whole(OWNER, sort, name))


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


def _whole(found: Whole) -> WholeEntryOut:
    profile = found.profile
    skill = profile if isinstance(profile, Skill) else None
    members = profile.members if isinstance(profile, Team) else ()
    return WholeEntryOut(
        headline=EntryOut.model_validate(found.headline),
        body=profile.body,
        when_to_use=skill.when_to_use if skill else "",
        allowed_tools=list(skill.allowed_tools) if skill else [],
        files=[file.path for file in skill.files] if skill else [],
        members=[MemberOut.model_validate(one) for one in members],
        evidence=list(found.evidence),
        history=[ImprovementOut.model_validate(one) for one in found.history],
    )
