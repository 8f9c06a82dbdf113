"""Routes for notes of a thread, model usage, attached files, and the user's time zone."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from everloop.adapters import plain_name
from everloop.errors import Invalid
from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES, RAW_BODY
from everloop.interfaces.http.routes.threads import AttachmentOut
from everloop.interfaces.http.schemas.request import Body
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.log import Command, execute_once, id_for_request
from everloop.thread import (
    THREAD_TRACES,
    CloseTopic,
    NoteDecision,
    NoteIntent,
    NoteTopic,
    OpenTopic,
    SetInstructions,
    SettleIntent,
    SetZone,
    find_note,
    find_thread,
    instruction_versions,
    list_notes,
    saved_memories,
    usage_by_period,
)

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["notes"])

INLINE_MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
Sort = Literal["topic", "decision", "intent"]


class NoteOut(ResponseBody):
    """A note of a thread: a topic, decision or intent."""

    note_id: str
    thread_id: str
    sort: str
    title: str
    text: str
    open: bool
    position: int
    at: datetime


class NewNote(Body):
    """A note to add."""

    sort: Sort
    text: Annotated[str, Field(min_length=1, max_length=5_000)]


class NoteChange(Body):
    """A new status text of a note, or that it is closed."""

    text: Annotated[str | None, Field(min_length=1, max_length=5_000)] = None
    closed: bool = False


class SavedOut(ResponseBody):
    """A memory and the message it was kept from. Retract `position` to undo it."""

    message_id: str
    item_id: str
    position: int
    text: str


class InstructionsOut(ResponseBody):
    """One version of your instructions."""

    position: int
    thread_id: str
    text: str
    at: datetime


class NewInstructions(Body):
    """Your instructions for a thread, or for all without one."""

    thread: Annotated[str, Field(max_length=200)] = ""
    text: Annotated[str, Field(max_length=8_000)]


class SpentOut(ResponseBody):
    """Usage of one model for one purpose in a period: calls, tokens, cost and time."""

    since: str
    model: str
    purpose: str
    calls: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_usd: float
    unpriced: int
    seconds: float


class TimeZoneIn(BaseModel):
    """The user's time zone."""

    zone: Annotated[str, Field(min_length=1, max_length=64)]


@router.get("/threads/{thread_id}/notes")
def notes(thread_id: str, deps: Deps, closed: bool = False) -> list[NoteOut]:
    """List topics, decisions and intents, newest first."""
    with deps.engine.reading() as reader:
        find_thread(reader, thread_id)
        found = list_notes(reader, thread_id, closed=closed)
    return [NoteOut.model_validate(note) for note in found]


@router.get("/instructions")
def instructions(
    deps: Deps, thread: Annotated[str, Query(max_length=200)] = ""
) -> list[InstructionsOut]:
    """The versions of your instructions for a thread, or for all, newest first."""
    with deps.engine.reading() as reader:
        found = instruction_versions(reader, thread)
    return [InstructionsOut.model_validate(one) for one in found]


@router.put("/instructions")
def instruct(new: NewInstructions, deps: Deps, by: ActorDep) -> list[InstructionsOut]:
    """Set your instructions for a thread, or for all. Earlier versions are kept."""
    if new.thread:
        with deps.engine.reading() as reader:
            find_thread(reader, new.thread)
    command = SetInstructions(new.thread, new.text)
    execute_once(deps.engine, command, THREAD_TRACES, by=by, request_id=new.request_id)
    return instructions(deps, new.thread)


@router.get("/threads/{thread_id}/saved")
def saved(
    thread_id: str, deps: Deps, limit: Annotated[int, Query(ge=1, le=500)] = 200
) -> list[SavedOut]:
    """The newest memories that were kept from messages of a thread, oldest first."""
    with deps.engine.reading() as reader:
        find_thread(reader, thread_id)
        found = saved_memories(reader, thread_id, limit)
    return [SavedOut.model_validate(one) for one in found]


@router.post("/threads/{thread_id}/notes", status_code=201)
def note(thread_id: str, new: NewNote, deps: Deps, by: ActorDep) -> NoteOut:
    """Add a topic, decision or intent."""
    request_id = new.request_id
    name = id_for_request(deps.engine.log.ids, new.sort[:3], request_id)
    match new.sort:
        case "topic":
            command: OpenTopic | NoteDecision | NoteIntent = OpenTopic(thread_id, name, new.text)
        case "decision":
            command = NoteDecision(thread_id, name, new.text)
        case "intent":
            command = NoteIntent(thread_id, name, new.text)
    execute_once(deps.engine, command, THREAD_TRACES, by=by, request_id=request_id)
    return _find_note(deps, thread_id, name)


@router.patch("/threads/{thread_id}/notes/{note_id}")
def change_note(
    thread_id: str, note_id: str, change: NoteChange, deps: Deps, by: ActorDep
) -> NoteOut:
    """Update a topic, or close a topic or intent."""
    current = _find_note(deps, thread_id, note_id)
    wanted: list[Command] = []
    if change.text is not None:
        wanted.append(NoteTopic(thread_id, note_id, change.text))
    if change.closed:
        wanted.append(
            (SettleIntent if current.sort == "intent" else CloseTopic)(thread_id, note_id)
        )
    for command in wanted:
        execute_once(deps.engine, command, THREAD_TRACES, by=by, request_id=change.request_id)
    return _find_note(deps, thread_id, note_id)


@router.get("/usage")
def usage(
    deps: Deps,
    by: Literal["day", "week", "month"] = "week",
    limit: Annotated[int, Query(ge=1, le=5_000)] = 1_000,
) -> list[SpentOut]:
    """Model usage by period, model and purpose, newest first."""
    with deps.engine.reading() as reader:
        found = usage_by_period(reader, by, limit)
    return [SpentOut.model_validate(one) for one in found]


class StoredFileOut(AttachmentOut):
    """A stored file, and whether a model can read it."""

    problem: str
    cut: bool  # it is too long: only the beginning is read


@router.put("/files", status_code=201, openapi_extra=RAW_BODY)
async def upload(
    request: Request,
    deps: Deps,
    name: Annotated[str, Query(min_length=1, max_length=500)],
) -> StoredFileOut:
    """Upload a file as the request body, to attach to a message later.

    `problem` says why a model cannot read it; it can be attached all the same.
    """
    kind = request.headers.get("content-type", "application/octet-stream").partition(";")[0]
    body = await request.body()
    files = deps.running.files
    kept = await run_in_threadpool(files.store, name, kind.strip().lower()[:100], _parts(body))
    text = await run_in_threadpool(deps.running.documents.text, kept)
    return StoredFileOut(
        **AttachmentOut.model_validate(kept).model_dump(), problem=text.problem, cut=text.cut
    )


@router.get("/files/{digest}", response_class=FileResponse)
def download(
    digest: str,
    deps: Deps,
    name: Annotated[str, Query(max_length=500)] = "file",
    media_type: Annotated[str, Query(max_length=100)] = "application/octet-stream",
) -> FileResponse:
    """Download an attached file. Images are shown inline, everything else is a download."""
    path = deps.running.files.path(digest)
    inline = media_type in INLINE_MEDIA_TYPES
    quoted_name = quote(plain_name(name), safe="")
    return FileResponse(
        path,
        media_type=media_type if inline else "application/octet-stream",
        headers={
            "Content-Disposition": f"{'inline' if inline else 'attachment'};"
            f" filename*=UTF-8''{quoted_name}",
            "Cache-Control": "no-store",  # what is purged must not live on in a browser's cache
            "Content-Security-Policy": "sandbox; default-src 'none'",
        },
    )


@router.put("/place", status_code=204)
def place(place: TimeZoneIn, deps: Deps, by: ActorDep) -> None:
    """Set the user's time zone; from now on, days end at its midnight."""
    try:
        zone = ZoneInfo(place.zone).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise Invalid(
            f"{place.zone!r} is not a time zone", hint="Use a name such as Europe/Berlin."
        ) from problem
    deps.engine.do(SetZone(zone), by=by)


def _parts(body: bytes) -> Iterator[bytes]:
    yield body


def _find_note(deps: Deps, thread_id: str, note_id: str) -> NoteOut:
    with deps.engine.reading() as reader:
        return NoteOut.model_validate(find_note(reader, thread_id, note_id))
