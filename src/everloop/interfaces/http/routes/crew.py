"""Routes for skills, personas and teams, trusted hosts, and the manifest."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from everloop.errors import NotFound
from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.lessons import FullEntry, ManifestRequest, Skill, Team
from everloop.memory import OWNER

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["crew"])


class EntryOut(ResponseBody):
    """A skill, persona or team in a list."""

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


class MemberOut(ResponseBody):
    """A member of a team."""

    sort: Literal["persona", "skill", "user"]
    id: str


class ImprovementOut(ResponseBody):
    """A promoted lesson that improved a skill."""

    lesson_id: str
    promoted_at: datetime
    trigger: str
    author: str


class WholeEntryOut(BaseModel):
    """A skill, persona or team in full.

    `files` are a skill's file names, `members` a team's members, `evidence` ids of memories, and
    `history` the lessons that improved a skill, oldest first.
    """

    headline: EntryOut
    body: str
    when_to_use: str
    allowed_tools: list[str]
    files: list[str]
    members: list[MemberOut]
    evidence: list[str]
    history: list[ImprovementOut]


class HostOut(ResponseBody):
    """A host, and whether it is trusted to relay the user's words."""

    host: str
    trusted: bool
    since: datetime


class Trust(BaseModel):
    """Whether to trust a host to relay the user's words."""

    trusted: bool


class ManifestOut(ResponseBody):
    """The text given to a host's model at the start of a turn; `context_id` names its record."""

    context_id: str
    text: str
    tokens: int


@router.get("/crew/{sort}")
def crew(
    sort: Literal["skill", "persona", "team"],
    deps: Deps,
    status: Annotated[list[Literal["draft", "active", "archived"]], Query()] = ["draft", "active"],  # noqa: B006 - FastAPI copies it
) -> list[EntryOut]:
    """List skills, personas or teams, by name."""
    entries = deps.engine.crew.entry_summaries(OWNER, sort, tuple(status))
    return [EntryOut.model_validate(one) for one in entries]


@router.get("/crew/{sort}/{name}")
def crew_entry(sort: Literal["skill", "persona", "team"], name: str, deps: Deps) -> WholeEntryOut:
    """One skill, persona or team in full, archived ones included."""
    return _entry_out(deps.engine.crew.find_entry(OWNER, sort, name))


@router.get("/hosts")
def hosts(deps: Deps) -> list[HostOut]:
    """List hosts, and whether each is trusted to relay the user's words."""
    return [HostOut.model_validate(host) for host in deps.engine.lessons.hosts()]


@router.put("/hosts/{host}")
def trust(host: str, trust: Trust, deps: Deps, by: ActorDep) -> HostOut:
    """Trust a host to relay the user's words, or stop trusting it."""
    act = deps.engine.lessons.trust if trust.trusted else deps.engine.lessons.distrust
    act(host, by=by)
    known = next((one for one in deps.engine.lessons.hosts() if one.host == host), None)
    if known is None:
        raise NotFound(
            f"{host!r} was never trusted",
            hint="There is nothing to undo; GET /api/hosts lists hosts.",
        )
    return HostOut.model_validate(known)


class Wanted(BaseModel):
    """The topic of a manifest."""

    query: Annotated[str, Field(max_length=2_000)] = ""


@router.post("/manifest")
def manifest(wanted: Wanted, deps: Deps, by: ActorDep) -> ManifestOut:
    """Build the manifest that a host's model would get now. It is stored like every prompt."""
    wish = ManifestRequest(memory_query=wanted.query, record=False)
    return ManifestOut.model_validate(deps.engine.manifests.build(wish, by=by))


def _entry_out(found: FullEntry) -> WholeEntryOut:
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
