"""What is kept in mind, what calls of models took, files beside messages, and where one is."""

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
from everloop.interfaces.http.dependencies import HouseDep, SpeakerDep
from everloop.interfaces.http.errors import PROBLEMS, RAW_BODY
from everloop.interfaces.http.routes.threads import AttachmentOut
from everloop.interfaces.http.schemas.request import Body
from everloop.interfaces.http.schemas.response import Shown
from everloop.log import Command, visible
from everloop.log.idempotency import do_once, new_id
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
from everloop.thread.queries import notes as noting
from everloop.thread.queries import threads

router = APIRouter(prefix="/api", responses=PROBLEMS, tags=["notes"])

INLINE = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
Sort = Literal["topic", "decision", "intent"]


class NoteOut(Shown):
    """A topic, a decision or an intent."""

    note_id: str
    thread_id: str
    sort: str
    title: str
    text: str
    open: bool
    position: int
    at: datetime


class NewNote(Body):
    """Something to keep in mind."""

    sort: Sort
    text: Annotated[str, Field(min_length=1, max_length=5_000)]


class NoteChange(Body):
    """Where it stands now, or that it is settled."""

    text: Annotated[str | None, Field(min_length=1, max_length=5_000)] = None
    closed: bool = False


class SpentOut(BaseModel):
    """What calls of one model for one purpose took in a stretch of time."""

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
    """Where the person is."""

    zone: Annotated[str, Field(min_length=1, max_length=64)]


@router.get("/threads/{thread_id}/notes")
def notes(thread_id: str, house: HouseDep, closed: bool = False) -> list[NoteOut]:
    """Topics, decisions and intents, the newest first."""
    with house.engine.reading() as reader:
        threads.thread(reader, thread_id)
        found = noting.notes(reader, thread_id, closed=closed)
    return [NoteOut.model_validate(note) for note in found]


@router.post("/threads/{thread_id}/notes", status_code=201)
def note(thread_id: str, new: NewNote, house: HouseDep, by: SpeakerDep) -> NoteOut:
    """Keep something in mind."""
    request_id = new.request_id
    name = new_id(house.engine.log.ids, new.sort[:3], request_id)
    match new.sort:
        case "topic":
            command: OpenTopic | NoteDecision | NoteIntent = OpenTopic(thread_id, name, new.text)
        case "decision":
            command = NoteDecision(thread_id, name, new.text)
        case "intent":
            command = NoteIntent(thread_id, name, new.text)
    do_once(house.engine.do, command, THREAD_TRACES, by=by, request_id=request_id)
    return _note(house, thread_id, name)


@router.patch("/threads/{thread_id}/notes/{note_id}")
def change_note(
    thread_id: str, note_id: str, change: NoteChange, house: HouseDep, by: SpeakerDep
) -> NoteOut:
    """Say where a topic stands, or settle a topic or an intent."""
    known = _note(house, thread_id, note_id)
    wanted: list[Command] = []
    if change.text is not None:
        wanted.append(NoteTopic(thread_id, note_id, change.text))
    if change.closed:
        wanted.append((SettleIntent if known.sort == "intent" else CloseTopic)(thread_id, note_id))
    for command in wanted:
        do_once(house.engine.do, command, THREAD_TRACES, by=by, request_id=change.request_id)
    return _note(house, thread_id, note_id)


@router.get("/usage")
def usage(
    house: HouseDep,
    by: Literal["day", "week", "month"] = "week",
    limit: Annotated[int, Query(ge=1, le=5_000)] = 1_000,
) -> list[SpentOut]:
    """What calls of models took, by stretch of time, model and purpose, the newest first."""
    with house.engine.reading() as reader:
        rows = reader.rows(_SPENT.format(stretch=_STRETCH[by]), (limit,))
    names = list(SpentOut.model_fields)
    return [SpentOut.model_validate(dict(zip(names, row, strict=True))) for row in rows]


@router.put("/files", status_code=201, openapi_extra=RAW_BODY)
async def upload(
    request: Request,
    house: HouseDep,
    name: Annotated[str, Query(min_length=1, max_length=500)],
) -> AttachmentOut:
    """Keep a file; the request's body is the file. It is then named in a message."""
    kind = request.headers.get("content-type", "application/octet-stream").partition(";")[0]
    body = await request.body()
    files = house.running.files
    kept = await run_in_threadpool(files.keep, name, kind.strip().lower()[:100], _parts(body))
    return AttachmentOut.model_validate(kept)


@router.get("/files/{digest}", response_class=FileResponse)
def download(
    digest: str,
    house: HouseDep,
    name: Annotated[str, Query(max_length=500)] = "file",
    media_type: Annotated[str, Query(max_length=100)] = "application/octet-stream",
) -> FileResponse:
    """A file beside a message. Pictures are shown, everything else is saved."""
    path = house.running.files.path(digest)
    inline = media_type in INLINE
    named = quote(plain_name(name), safe="")
    return FileResponse(
        path,
        media_type=media_type if inline else "application/octet-stream",
        headers={
            "Content-Disposition": f"{'inline' if inline else 'attachment'};"
            f" filename*=UTF-8''{named}",
            "Cache-Control": "private, max-age=86400",
            "Content-Security-Policy": "sandbox; default-src 'none'",
        },
    )


@router.put("/place", status_code=204)
def place(place: Place, house: HouseDep, by: SpeakerDep) -> None:
    """Say where the person is; days end at that place's midnight from now on."""
    try:
        zone = ZoneInfo(place.zone).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise Invalid(
            f"{place.zone!r} is no time zone", hint="Use a name such as Europe/Berlin."
        ) from problem
    house.engine.do(SetZone(zone), by=by)


def _parts(body: bytes) -> Iterator[bytes]:
    yield body


def _note(house: HouseDep, thread_id: str, note_id: str) -> NoteOut:
    with house.engine.reading() as reader:
        found = noting.notes(reader, thread_id, closed=True)
    for one in found:
        if one.note_id == note_id:
            return NoteOut.model_validate(one)
    raise NotFound(f"no note {note_id!r} here", hint="It may be on another branch.")


_STRETCH = {
    "day": "date(c.at / 1000000, 'unixepoch')",
    "week": "date(c.at / 1000000, 'unixepoch', '-6 days', 'weekday 1')",
    "month": "strftime('%Y-%m-01', c.at / 1000000, 'unixepoch')",
}
_SPENT = f"""
SELECT {{stretch}} AS since, c.model, c.purpose, count(*), sum(c.tokens_in), sum(c.tokens_out),
    sum(max(c.cost_usd, 0)), sum(c.cost_usd < 0), sum(c.duration_s)
FROM thread_calls c WHERE {visible("c")}
GROUP BY since, c.model, c.purpose ORDER BY since DESC, c.model, c.purpose LIMIT ?
"""  # noqa: S608 - our own conditions
