"""Routes of the story itself: messages, versions, witnesses, rewinding and branches."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.routes.worlds.idempotency import PlayerDep
from everloop.interfaces.http.routes.worlds.library import LongText
from everloop.interfaces.http.routes.worlds.responses import world_out
from everloop.interfaces.http.routes.worlds.scenes import BranchName, People
from everloop.interfaces.http.schemas.request import EMPTY_BODY, Body
from everloop.interfaces.http.schemas.response import DoneOut, ImpactOut, impact_out
from everloop.interfaces.http.schemas.world_memories import TurnReadOut, TurnsReadOut
from everloop.interfaces.http.schemas.worlds import (
    LearnedVia,
    StoryMessageOut,
    StoryPageOut,
    WorldOut,
)
from everloop.worlds import (
    CorrectWitnesses,
    find_story_message,
    story_messages,
    turns_read,
)

router = APIRouter(prefix="/api/worlds/{world_id}", responses=ERROR_RESPONSES, tags=["worlds"])

PAGE_MAX = 200


class VersionChoice(Body):
    """The version that is to count."""

    version_id: Annotated[str, Field(max_length=100)]


class EditIn(Body):
    """The new text of a message."""

    text: LongText


class HiddenIn(Body):
    """Whether a message is hidden from models."""

    hidden: bool


class WitnessesIn(Body):
    """Who witnessed a message, and how those who were not there learned of it."""

    witnesses: People
    learned_via: Annotated[dict[str, LearnedVia], Field(max_length=3, default_factory=dict)]


class ReasonIn(Body):
    """Why something is retracted."""

    reason: Annotated[str, Field(max_length=500)] = ""


class BranchIn(Body):
    """The branch to switch to."""

    branch: Annotated[str, Field(max_length=300)]


@router.get("/messages")
def messages(
    world_id: str,
    deps: Deps,
    scene: Annotated[str, Query(max_length=100)] = "",
    before: Annotated[
        int, Query(ge=0, le=10**15, description="Log position; 0 for the newest.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX)] = 60,
    branch: BranchName = None,
) -> StoryPageOut:
    """Messages in the order of the story, the newest before a position."""
    with deps.engine.reading(branch=branch) as reader:
        found = story_messages(reader, world_id, scene_id=scene, before=before, limit=limit + 1)
    return StoryPageOut(
        messages=[StoryMessageOut.model_validate(one) for one in found[-limit:]],
        earlier=len(found) > limit,
    )


@router.get("/messages/{message_id}")
def message(
    world_id: str, message_id: str, deps: Deps, branch: BranchName = None
) -> StoryMessageOut:
    """One message with all its versions."""
    with deps.engine.reading(branch=branch) as reader:
        return StoryMessageOut.model_validate(find_story_message(reader, world_id, message_id))


@router.put("/messages/{message_id}/version")
def choose_version(
    world_id: str, message_id: str, choice: VersionChoice, deps: Deps, by: PlayerDep
) -> StoryMessageOut:
    """Choose a version of the newest reply. What came of the other one is taken back."""
    deps.engine.worlds.choose_version(world_id, message_id, choice.version_id, by)
    return message(world_id, message_id, deps)


@router.put("/messages/{message_id}/text")
def edit(
    world_id: str, message_id: str, edited: EditIn, deps: Deps, by: PlayerDep
) -> StoryMessageOut:
    """Give a message another text."""
    deps.engine.worlds.edit(world_id, message_id, edited.text, by)
    return message(world_id, message_id, deps)


@router.put("/messages/{message_id}/hidden")
def hide(
    world_id: str, message_id: str, hidden: HiddenIn, deps: Deps, by: PlayerDep
) -> StoryMessageOut:
    """Hide a message from models, or let it count again."""
    worlds = deps.engine.worlds
    (worlds.hide if hidden.hidden else worlds.unhide)(world_id, message_id, by)
    return message(world_id, message_id, deps)


@router.put("/messages/{message_id}/witnesses")
def correct_witnesses(
    world_id: str, message_id: str, told: WitnessesIn, deps: Deps, by: PlayerDep
) -> StoryMessageOut:
    """Say who witnessed a message, and how they learned of it."""
    learned = dict(told.learned_via)
    correction = CorrectWitnesses(world_id, message_id, told.witnesses, learned)
    deps.engine.worlds.correct_witnesses(correction, by)
    return message(world_id, message_id, deps)


@router.get("/readings")
def readings(
    world_id: str, deps: Deps, scene: Annotated[str, Query(max_length=100)] = ""
) -> TurnsReadOut:
    """How the turns of a scene were read, by default of the open one, and what was missed."""
    worlds = deps.engine.worlds
    now = worlds.world(world_id).scene
    scene_id = scene or (now.scene_id if now else "")
    with deps.engine.reading() as reader:
        found = turns_read(reader, world_id, scene_id)
        said = story_messages(reader, world_id, scene_id=scene_id, limit=1)
    asks = worlds.settings.close_scenes == "ask" and now is not None and now.scene_id == scene_id
    is_newest = bool(found and said) and found[-1].message_id == said[-1].message_id
    return TurnsReadOut(
        turns=[TurnReadOut.model_validate(one) for one in found],
        closing=found[-1].scene_over if asks and is_newest else "",
    )


@router.post("/messages/{message_id}/reading", status_code=202)
def read_again(
    world_id: str, message_id: str, deps: Deps, by: PlayerDep, _: Body = EMPTY_BODY
) -> TurnsReadOut:
    """Take back what was read from a message, and read it again in the background."""
    deps.engine.worlds.redo_effects(world_id, message_id, by)
    with deps.engine.reading() as reader:
        scene_id = find_story_message(reader, world_id, message_id).scene_id
    return readings(world_id, deps, scene_id)


@router.get("/messages/{message_id}/retraction")
def preview_retract(world_id: str, message_id: str, deps: Deps) -> ImpactOut:
    """Preview retracting this message."""
    return impact_out(deps.engine.worlds.preview_retract_message(world_id, message_id))


@router.post("/messages/{message_id}/retraction")
def retract(world_id: str, message_id: str, why: ReasonIn, deps: Deps, by: PlayerDep) -> DoneOut:
    """Retract a message and everything that followed from it. Retract `position` to undo it."""
    worlds = deps.engine.worlds
    return DoneOut(position=worlds.retract_message(world_id, message_id, why.reason, by))


@router.get("/messages/{message_id}/rewind")
def preview_rewind(world_id: str, message_id: str, deps: Deps) -> ImpactOut:
    """Preview going back to just before a message."""
    return impact_out(deps.engine.worlds.preview_rewind(world_id, message_id))


@router.post("/messages/{message_id}/rewind")
def rewind(
    world_id: str, message_id: str, deps: Deps, by: PlayerDep, _: Body = EMPTY_BODY
) -> WorldOut:
    """Go back to just before a message. The story so far stays on its own branch."""
    deps.engine.worlds.rewind(world_id, message_id, by)
    return world_out(deps, world_id)


@router.post("/messages/{message_id}/branch")
def branch_after(
    world_id: str, message_id: str, deps: Deps, by: PlayerDep, _: Body = EMPTY_BODY
) -> WorldOut:
    """Try another course from a message on. The story so far stays on its own branch."""
    deps.engine.worlds.branch_after(world_id, message_id, by)
    return world_out(deps, world_id)


@router.post("/branch")
def switch_branch(world_id: str, wanted: BranchIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Switch to another branch of this world; this also undoes a rewind."""
    deps.engine.worlds.switch_branch(world_id, wanted.branch, by)
    return world_out(deps, world_id)
