"""Conversations on their way in from elsewhere, and on their way out."""

import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from everloop.adapters.exports import open_export
from everloop.adapters.files import plain_name
from everloop.interfaces.http.answers import PROBLEMS, RAW_BODY
from everloop.interfaces.http.house import House, HouseDep, SpeakerDep
from everloop.interfaces.http.shown import Shown
from everloop.log import Context
from everloop.thread.exporting import as_lines, as_markdown, chosen
from everloop.thread.importing import Imported, Importer, imports

router = APIRouter(prefix="/api", responses=PROBLEMS, tags=["moving"])

FORMS = {
    "markdown": ("text/markdown; charset=utf-8", "md"),
    "jsonl": ("application/jsonl", "jsonl"),
}

NAME_BYTES = 200  # as much of a file's name as every disk takes; its end tells what it is


class TroubleOut(Shown):
    """Something that was passed over: where, and why."""

    place: str
    problem: str


class ImportedOut(Shown):
    """What an import led to. Retract `position` to take all of it back."""

    import_id: str
    position: int
    source: str
    name: str
    messages: int
    known: int
    threads: list[str]
    passed_over: int
    troubles: list[TroubleOut]


class PastImportOut(Shown):
    """An import in a list. Retract `position` to take all of it back."""

    import_id: str
    position: int
    source: str
    name: str
    begun_at: datetime
    ended: bool
    messages: int


@router.get("/imports")
def past_imports(house: HouseDep) -> list[PastImportOut]:
    """Every import that counts, the newest first."""
    with house.engine.reading() as reader:
        return [PastImportOut.model_validate(one) for one in imports(reader)]


@router.post("/imports", status_code=201, openapi_extra=RAW_BODY)
async def take_in(
    request: Request,
    house: HouseDep,
    by: SpeakerDep,
    name: Annotated[str, Query(min_length=1, max_length=500)],
    home: Annotated[bool, Query(description="All of it into the home thread.")] = False,
) -> ImportedOut:
    """Take in an export: the body is the file (Claude, ChatGPT, Claude Code, or plain lines).

    It answers when all of it is in; the facts in the stream tell how far it is. Sent again, it
    takes in only what is missing.
    """
    folder = await run_in_threadpool(tempfile.mkdtemp, prefix="everloop-import-")
    path = Path(folder) / plain_name(name).encode()[-NAME_BYTES:].decode(errors="ignore")
    try:
        with path.open("wb") as file:
            async for part in request.stream():
                await run_in_threadpool(file.write, part)
        done = await run_in_threadpool(_imported, house, path, by, home)
    finally:
        path.unlink(missing_ok=True)
        path.parent.rmdir()
    return ImportedOut.model_validate(done)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/markdown": {}, "application/jsonl": {}},
            "description": "The conversations, as a file.",
        }
    },
)
def export(
    house: HouseDep,
    form: Annotated[Literal["markdown", "jsonl"], Query(alias="format")] = "markdown",
    thread: Annotated[str, Query(max_length=200, description="None: all of them.")] = "",
) -> StreamingResponse:
    """Conversations as Markdown for people, or as lines of JSON that can be imported again."""
    log = house.engine.log
    with house.engine.reading() as reader:
        wanted = chosen(reader, [thread] if thread else [])
    title = wanted[0].title if len(wanted) == 1 else "Everloop"
    kind, suffix = FORMS[form]

    def body() -> Iterator[bytes]:
        for one in wanted:
            if form == "jsonl":
                yield from as_lines(log, one)
            else:
                yield from (part.encode() for part in as_markdown(log, one))

    named = quote(plain_name(f"{title}.{suffix}"), safe="")
    told = {"Content-Disposition": f"attachment; filename*=UTF-8''{named}"}
    return StreamingResponse(body(), media_type=kind, headers=told)


def _imported(house: House, path: Path, by: Context, home: bool) -> Imported:
    limits = house.running.settings.thread.imports
    engine = house.engine
    importer = Importer(engine.log, engine.do_many, by, batch=limits.batch, into_home=home)
    return importer.run(open_export(path, limits))
