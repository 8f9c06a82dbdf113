"""Routes for telephone calls that the user asks for: call me when this task is done."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel

from everloop.errors import Conflict, Invalid
from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.request import EMPTY_BODY, Body

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["voice"])
TASK = "task:"
Subject = Annotated[str, Path(max_length=200, description="A task: `task:ID`.")]


class VoiceOut(BaseModel):
    """Whether the user can be called, and the subjects about which they asked to be."""

    configured: bool
    callbacks: list[str]


@router.get("/voice")
def get_voice(deps: Deps) -> VoiceOut:
    """Whether the telephone is configured, and what the user wants to be called about."""
    running = deps.running
    return VoiceOut(configured=running.has_telephone, callbacks=sorted(running.voice.callbacks()))


@router.put("/voice/callbacks/{subject}")
def request_callback(
    subject: Subject, deps: Deps, actor: ActorDep, body: Body = EMPTY_BODY
) -> VoiceOut:
    """Ask to be called once, when a task is done, failed or ready for review. Idempotent."""
    del body
    if not subject.startswith(TASK):
        raise Invalid(f"{subject!r} is not a task", hint="Name a task: `task:ID`.")
    found = deps.engine.workers.find(subject.removeprefix(TASK)).task
    if not deps.running.has_telephone:
        raise Invalid(
            "the telephone is not configured",
            hint="Run `everloop voice check` for what is missing.",
        )
    if found.ended:
        raise Conflict(
            f"task {found.task_id!r} is over: it is {found.state}",
            hint="Retry it first, or propose a new one.",
        )
    deps.running.voice.request_callback(subject, actor)
    return get_voice(deps)


@router.delete("/voice/callbacks/{subject}")
def cancel_callback(subject: Subject, deps: Deps, actor: ActorDep) -> VoiceOut:
    """No longer ask to be called about a task. Idempotent."""
    deps.running.voice.cancel_callback(subject, actor)
    return get_voice(deps)
