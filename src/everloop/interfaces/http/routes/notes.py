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

from everloop.adapters.files.store import plain_name
from everloop.errors import Invalid, NotFound
from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES, RAW_BODY
from everloop.interfaces.http.routes.threads import AttachmentOut
from everloop.interfaces.http.schemas.request import Body
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.log import Command, visible
from everloop.log.idempotency import execute_once, id_for_request
from everloop.thread.idempotent_requests import THREAD_TRACES
from everloop.thread.model.commands import (
    CloseTopic,
    NoteDecision,
    NoteIntent,
    NoteTopic,
    OpenTopic,
    SettleIntent,
    SetZone,
)
from everloop.thread.queries import notes as note_queries
from everloop.thread.queries import threads

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


class SpentOut(BaseModel):
    """Usage of one model for one purpose in a period: calls, tokens, cost and time."""

    since: str
    model: str
    purpose: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    unpriced: int
    seconds: float


class Place(BaseModel):
    """The user's time zone."""

    zone: Annotated[str, Field(min_length=1, max_length=64)]


@router.get("/threads/{thread_id}/notes")
def notes(thread_id: str, deps: Deps, closed: bool = False) -> list[NoteOut]:
    """List topics, decisions and intents, newest first."""
    with deps.engine.reading() as reader:
        threads.thread(reader, thread_id)
        found = note_queries.notes(reader, thread_id, closed=closed)
    return [NoteOut.model_validate(note) for note in found]


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
        rows = reader.rows(_USAGE.format(period=_PERIOD[by]), (limit,))
    names = list(SpentOut.model_fields)
    return [SpentOut.model_validate(dict(zip(names, row, strict=True))) for row in rows]


@router.put("/files", status_code=201, openapi_extra=RAW_BODY)
async def upload(
    request: Request,
    deps: Deps,
    name: Annotated[str, Query(min_length=1, max_length=500)],
) -> AttachmentOut:
    """Upload a file as the request body, to attach to a message later."""
    kind = request.headers.get("content-type", "application/octet-stream").partition(";")[0]
    body = await request.body()
    files = deps.running.files
    kept = await run_in_threadpool(files.store, name, kind.strip().lower()[:100], _parts(body))
    return AttachmentOut.model_validate(kept)


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
            "Cache-Control": "private, max-age=86400",
            "Content-Security-Policy": "sandbox; default-src 'none'",
        },
    )


@router.put("/place", status_code=204)
def place(place: Place, deps: Deps, by: ActorDep) -> None:
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
        found = note_queries.notes(reader, thread_id, closed=True)
    for one in found:
        if one.note_id == note_id:
            return NoteOut.model_validate(one)
    raise NotFound(f"no note {note_id!r} in this thread", hint="It may be on another branch.")


_PERIOD = {
    "day": "date(c.at / 1000000, 'unixepoch')",
    "week": "date(c.at / 1000000, 'unixepoch', '-6 days', 'weekday 1')",
    "month": "strftime('%Y-%m-01', c.at / 1000000, 'unixepoch')",
}
_USAGE = f"""
SELECT {{period}} AS since, c.model, c.purpose, count(*), sum(c.tokens_in), sum(c.tokens_out),
    sum(max(c.cost_usd, 0)), sum(c.cost_usd < 0), sum(c.duration_s)
FROM thread_calls c WHERE {visible("c")}
GROUP BY since, c.model, c.purpose ORDER BY since DESC, c.model, c.purpose LIMIT ?
"""  # noqa: S608 - our own conditions
