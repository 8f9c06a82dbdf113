"""HTTP error responses: one table from error class to status code, and one JSON shape."""

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

STATUS_CODES: tuple[tuple[type[EverloopError], int], ...] = (
    (NotFound, 404),
    (Conflict, 409),
    (Forbidden, 403),
    (Invalid, 422),
    (Rejected, 422),
    (Unavailable, 503),
    (Corrupt, 500),
)


class Problem(BaseModel):
    """An error: what is wrong, and what to do about it."""

    error: str
    hint: str = ""


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in (
        (400, "The request is malformed: invalid JSON, or a header is repeated."),
        (401, "This device is not signed in."),
        (403, "Not allowed, or sent from another site."),
        (404, "Not found."),
        (409, "Conflict: it was changed by someone else, or already exists."),
        (413, "The request is too large."),
        (421, "The host name is not one of this server's names."),
        (422, "Validation failed: a value is missing, malformed or out of bounds."),
        (429, "Too many attempts; wait a minute."),
        (503, "A service that Everloop depends on failed; try again later."),
    )
}


RAW_BODY: dict[str, Any] = {  # OpenAPI extra of routes whose body is a raw file
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def http_status(problem: EverloopError) -> int:
    """The HTTP status code of an error."""
    return next(status for kind, status in STATUS_CODES if isinstance(problem, kind))


def register_error_handlers(app: FastAPI) -> None:
    """Register the handlers that turn every error into a `Problem` response."""

    async def on_everloop_error(_: Request, problem: Exception) -> JSONResponse:
        assert isinstance(problem, EverloopError)
        body = Problem(error=str(problem), hint=problem.hint_without_cli)
        return JSONResponse(body.model_dump(), http_status(problem))

    async def on_validation_error(_: Request, problem: Exception) -> JSONResponse:
        assert isinstance(problem, RequestValidationError)
        first = problem.errors()[0]
        location = ".".join(str(part) for part in first["loc"])
        body = Problem(
            error=f"{location}: {first['msg']}", hint="/openapi.json describes every request."
        )
        return JSONResponse(body.model_dump(), 422)

    async def on_http_exception(_: Request, problem: Exception) -> JSONResponse:
        assert isinstance(problem, HTTPException)
        hint = "Send the body as JSON in UTF-8." if problem.status_code == 400 else ""
        body = Problem(error=str(problem.detail), hint=hint)
        return JSONResponse(body.model_dump(), problem.status_code, headers=problem.headers)

    app.add_exception_handler(EverloopError, on_everloop_error)
    app.add_exception_handler(RequestValidationError, on_validation_error)
    app.add_exception_handler(HTTPException, on_http_exception)
