"""Receiving an uploaded file: the body of a request, written to the folder of a new import."""

from pathlib import Path

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from everloop.adapters import plain_name
from everloop.import_jobs import ImportJobs, WorldImportJobs

NAME_BYTES = 200  # as much of a file's name as every disk takes; its end tells what it is


async def receive_upload(request: Request, name: str, jobs: ImportJobs | WorldImportJobs) -> Path:
    """Write the body to a file of this name, to be given to `submit_upload`.

    An upload that ends early is removed.
    """
    short = plain_name(name).encode()[-NAME_BYTES:].decode(errors="ignore")
    path = await run_in_threadpool(jobs.upload_path, short)
    try:
        with path.open("wb") as file:
            async for part in request.stream():
                await run_in_threadpool(file.write, part)
    except BaseException:
        jobs.drop(path.parent)
        raise
    return path
