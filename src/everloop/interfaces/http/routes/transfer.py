"""Conversations on their way in from elsewhere, and on their way out."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from everloop.adapters import plain_name, zip_threads
from everloop.background import JobState
from everloop.errors import NotFound
from everloop.import_jobs import ImportJob
from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES, RAW_BODY
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.interfaces.http.uploads import receive_upload
from everloop.thread import export_thread, import_history, threads_to_export

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["moving"])

FORMS = {
    "markdown": ("text/markdown; charset=utf-8", "md"),
    "jsonl": ("application/jsonl", "jsonl"),
    "zip": ("application/zip", "zip"),
}


class TroubleOut(ResponseBody):
    """Something that was passed over: where, and why."""

    place: str
    problem: str


class ImportedOut(ResponseBody):
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
    files: int
    files_missing: int


class PastImportOut(ResponseBody):
    """An import in a list. Retract `position` to take all of it back."""

    import_id: str
    position: int
    source: str
    name: str
    begun_at: datetime
    ended: bool
    messages: int
    under_way: bool = False  # `GET /imports/{import_id}` tells how far it is


class ImportStateOut(BaseModel):
    """How far an import is. `result` is there when it is done, `error` if it failed."""

    import_id: str
    name: str
    source: str
    state: JobState
    bytes_read: int
    bytes: int
    messages: int
    known: int
    result: ImportedOut | None
    error: str
    hint: str


@router.get("/imports")
def past_imports(deps: Deps) -> list[PastImportOut]:
    """Every import that counts, the newest first."""
    with deps.engine.reading() as reader:
        found = [PastImportOut.model_validate(one) for one in import_history(reader)]
    for one in found:
        job = deps.running.imports.job(one.import_id)
        one.under_way = job is not None and not job.over.is_set()
    return found


@router.post(
    "/imports",
    status_code=201,
    response_model=ImportedOut,
    responses={202: {"model": ImportStateOut, "description": "It has begun."}},
    openapi_extra=RAW_BODY,
)
async def take_in(
    request: Request,
    deps: Deps,
    by: ActorDep,
    name: Annotated[str, Query(min_length=1, max_length=500)],
    home: Annotated[bool, Query(description="All of it into the home thread.")] = False,
    wait: Annotated[bool, Query(description="Answer when all of it is in, not at once.")] = True,
) -> ImportedOut | JSONResponse:
    """Take in an export: the body is the file (Claude, ChatGPT, Claude Code, or plain lines).

    `GET /imports/{import_id}` and the facts in the stream tell how far it is. If the server ends
    meanwhile, it goes on with the next start. Sent again, it takes in only what is missing.
    """
    jobs = deps.running.imports
    path = await receive_upload(request, name, jobs)
    job = await run_in_threadpool(lambda: jobs.submit_upload(path, into_home=home, by=by))
    if wait:
        return ImportedOut.model_validate(await run_in_threadpool(job.outcome))
    return JSONResponse(_state(job).model_dump(mode="json"), 202)


@router.get("/imports/{import_id}")
def import_state(import_id: str, deps: Deps) -> ImportStateOut:
    """How far an import is that was sent to this server since it started."""
    job = deps.running.imports.job(import_id)
    if job is None:
        raise NotFound(f"{import_id!r} is not under way", hint="GET /api/imports lists all.")
    return _state(job)


@router.post("/imports/{import_id}/resume", status_code=202)
def resume_import(import_id: str, deps: Deps) -> ImportStateOut:
    """Go on with an import that was broken off, or failed for want of a disk or the like.

    What was sent is kept, so it need not be sent again.
    """
    return _state(deps.running.imports.resume(import_id))


@router.delete("/imports/{import_id}", status_code=204)
def break_import_off(import_id: str, deps: Deps) -> None:
    """Break an import off. What is in stays: go on with it, or take it back by its position.

    Once more, and what was sent is thrown away; after some days that happens by itself.
    """
    deps.running.imports.cancel(import_id)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/markdown": {}, "application/jsonl": {}, "application/zip": {}},
            "description": "The conversations, as a file.",
        }
    },
)
def export(
    deps: Deps,
    form: Annotated[Literal["markdown", "jsonl", "zip"], Query(alias="format")] = "markdown",
    thread: Annotated[str, Query(max_length=200, description="None: all of them.")] = "",
) -> StreamingResponse:
    """Conversations as Markdown for people, or as lines of JSON that can be imported again.

    A zip has both, and the files beside messages.
    """
    log = deps.engine.log
    with deps.engine.reading() as reader:
        wanted = threads_to_export(reader, [thread] if thread else [])
    title = wanted[0].title if len(wanted) == 1 else "Everloop"
    kind, suffix = FORMS[form]

    def body() -> Iterator[bytes]:
        if form == "zip":
            yield from zip_threads(log, wanted, deps.running.files)
        else:
            for one in wanted:
                yield from export_thread(log, one, form)

    named = quote(plain_name(f"{title}.{suffix}"), safe="")
    told = {"Content-Disposition": f"attachment; filename*=UTF-8''{named}"}
    return StreamingResponse(body(), media_type=kind, headers=told)


def _state(job: ImportJob) -> ImportStateOut:
    problem = job.problem
    return ImportStateOut(
        import_id=job.job_id,
        name=job.export.name,
        source=job.export.kind,
        state=job.state,
        bytes_read=job.done,
        bytes=job.export.size,
        messages=job.messages,
        known=job.known,
        result=ImportedOut.model_validate(job.result) if job.result else None,
        error=str(problem) if problem else "",
        hint=problem.hint if problem else "",
    )
