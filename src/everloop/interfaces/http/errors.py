"""Errors as answers: one table from what went wrong to a status, one shape for all of them."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from everloop.errors import (
    Conflict,
    Corrupt,
    EverloopError,
    Forbidden,
    Invalid,
    NotFound,
    Rejected,
    Unavailable,
)

STATUS: tuple[tuple[type[EverloopError], int], ...] = (
    (NotFound, 404),
    (Conflict, 409),
    (Forbidden, 403),
    (Invalid, 422),
    (Rejected, 422),
    (Unavailable, 503),
    (Corrupt, 500),
)


class Problem(BaseModel):
    """What went wrong, and what to do next."""

    error: str
    hint: str = ""


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": words}
    for status, words in (
        (400, "The request cannot be read."),
        (401, "This device is not signed in."),
        (403, "Not allowed, or from another site."),
        (404, "There is no such thing."),
        (409, "It changed meanwhile, or is there already."),
        (413, "The request is too large."),
        (421, "This server is not known by that name."),
        (422, "The request is malformed, or breaks a limit."),
        (429, "Too many tries; wait a minute."),
        (503, "Something outside failed; try again later."),
    )
}


RAW_BODY: dict[str, Any] = {  # for routes whose body is a file as it is
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def status_of(problem: EverloopError) -> int:
    """The status that an error stands for."""
    return next(status for kind, status in STATUS if isinstance(problem, kind))


def teach_errors(app: FastAPI) -> None:
    """Make every error of ours an answer of one shape."""

    async def ours(_: Request, problem: Exception) -> JSONResponse:
        assert isinstance(problem, EverloopError)
        told = Problem(error=str(problem), hint=problem.hint_anywhere)
        return JSONResponse(told.model_dump(), status_of(problem))

    async def malformed(_: Request, problem: Exception) -> JSONResponse:
        assert isinstance(problem, RequestValidationError)
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        told = Problem(error=f"{place}: {first['msg']}", hint="See /openapi.json.")
        return JSONResponse(told.model_dump(), 422)

    async def plain(_: Request, problem: Exception) -> JSONResponse:
        assert isinstance(problem, HTTPException)
        hint = "Send JSON, in UTF-8." if problem.status_code == 400 else ""
        told = Problem(error=str(problem.detail), hint=hint)
        return JSONResponse(told.model_dump(), problem.status_code, headers=problem.headers)

    app.add_exception_handler(EverloopError, ours)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, plain)
