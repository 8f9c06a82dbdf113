"""Routes of playing: say a line, request a reply or another version of one, stop it."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.routes.worlds.idempotency import PlayerDep
from everloop.interfaces.http.routes.worlds.library import Line, LongText
from everloop.interfaces.http.routes.worlds.responses import world_out
from everloop.interfaces.http.routes.worlds.scenes import People
from everloop.interfaces.http.schemas.request import EMPTY_BODY, Body
from everloop.interfaces.http.schemas.worlds import RequestedOut, WorldOut
from everloop.worlds import PLAYER, RequestedReply
from everloop.worlds import Line as StoryLine

router = APIRouter(prefix="/api/worlds/{world_id}", responses=ERROR_RESPONSES, tags=["worlds"])

Who = Annotated[str, Field(max_length=100)]


class LineIn(Body):
    """A line of the story, and who is to reply: empty is whoever's turn it is.

    Without `witnesses`, everyone present hears it. With the same `request_id`, it is written once.
    """

    text: Annotated[str, Field(min_length=1, max_length=100_000)]
    speaker: Who = PLAYER
    addressee: Who = ""
    witnesses: People = ()
    reply: bool = True
    reply_by: Who = ""


class ReplyIn(Body):
    """A reply that is wanted: the next one, more of the last one, or the player's own line."""

    mode: Literal["next", "continue", "impersonate"] = "next"
    speaker: Who = ""
    direction: Line = ""


class VersionIn(Body):
    """How another version is wanted."""

    direction: LongText = ""


@router.post("/lines", status_code=201)
def say(world_id: str, said: LineIn, deps: Deps, by: PlayerDep) -> RequestedOut:
    """Write a line and request the reply to it, which arrives on the event stream."""
    message_id = f"msg-{said.request_id}" if said.request_id else ""
    line = StoryLine(
        said.text,
        said.speaker,
        said.addressee,
        said.witnesses,
        message_id,
        said.reply,
        said.reply_by,
    )
    return _out(deps.engine.worlds.say(world_id, line, by))


@router.post("/replies", status_code=201)
def request_reply(world_id: str, wanted: ReplyIn, deps: Deps, by: PlayerDep) -> RequestedOut:
    """Request a reply without writing a line first."""
    worlds = deps.engine.worlds
    if wanted.mode == "continue":
        return _out(worlds.continue_reply(world_id, by))
    if wanted.mode == "impersonate":
        return _out(worlds.impersonate(world_id, by, wanted.direction))
    return _out(
        worlds.request_reply(world_id, by, speaker=wanted.speaker, direction=wanted.direction)
    )


@router.post("/messages/{message_id}/versions", status_code=201)
def request_version(
    world_id: str, message_id: str, wanted: VersionIn, deps: Deps, by: PlayerDep
) -> RequestedOut:
    """Request another version of the newest reply. What came of the first one is taken back."""
    turn_id = deps.engine.worlds.request_version(world_id, message_id, wanted.direction, by)
    return RequestedOut(written="", turn_id=turn_id, message_id=message_id, speaker="")


@router.post("/turns/{turn_id}/stop", status_code=202)
def stop(world_id: str, turn_id: str, deps: Deps, by: PlayerDep, _: Body = EMPTY_BODY) -> WorldOut:
    """Stop a reply. The text so far is kept, and marked."""
    deps.engine.worlds.world(world_id)
    deps.running.stop_world_turn(world_id, turn_id, by=by)
    return world_out(deps, world_id)


def _out(reply: RequestedReply) -> RequestedOut:
    return RequestedOut(
        written=reply.written,
        turn_id=reply.turn_id,
        message_id=reply.message_id,
        speaker=reply.speaker,
    )
