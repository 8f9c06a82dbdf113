"""Who makes a request to a world, and which request it is: repeated, it changes nothing more."""

from typing import Annotated, Any

import msgspec
from fastapi import Depends, Query, Request

from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.schemas.request import RequestId
from everloop.log import Context, name_request

WORD = "world"  # prefixes the request ids of worlds in the log


async def request_content(request: Request) -> tuple[str, bytes]:
    """The request id in the body, and all else that a request says."""
    told = _decoded(await request.body())
    request_id = told.pop("request_id", "")
    named = request_id if isinstance(request_id, str) else ""
    return named, _content(request, told)


async def removal_content(
    request: Request, request_id: Annotated[RequestId, Query()] = ""
) -> tuple[str, bytes]:
    """The request id in the query of a request without a body."""
    return request_id, _content(request, {})


def player(
    deps: Deps, by: ActorDep, asked: Annotated[tuple[str, bytes], Depends(request_content)]
) -> Context:
    """Who makes a request, with its name.

    Raises:
        Conflict: the request id was used before, for something else.
    """
    return _named(deps, by, asked)


def remover(
    deps: Deps, by: ActorDep, asked: Annotated[tuple[str, bytes], Depends(removal_content)]
) -> Context:
    """Who removes something, with the request's name."""
    return _named(deps, by, asked)


def _named(deps: Deps, by: Context, asked: tuple[str, bytes]) -> Context:
    name = name_request(deps.engine.log, WORD, *asked)
    return msgspec.structs.replace(by, request=name)


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any]) if body else {}
    except (msgspec.DecodeError, RecursionError):
        return {}  # the body is refused afterwards


def _content(request: Request, told: dict[str, Any]) -> bytes:
    said = (request.method, request.url.path, told)
    return msgspec.json.encode(said, order="deterministic")


PlayerDep = Annotated[Context, Depends(player)]
RemoverDep = Annotated[Context, Depends(remover)]
