"""The one table from our errors to the protocol's: what can be mended is told, with its hint."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from everloop.errors import Corrupt, EverloopError, NotFound

P = ParamSpec("P")
T = TypeVar("T")


def told(problem: EverloopError) -> str:
    """What went wrong, and what to do."""
    return f"{problem}. {problem.hint_anywhere}" if problem.hint else str(problem)


def tool(function: Callable[P, T]) -> Callable[P, T]:
    """A tool whose errors a model can read and act on."""
    return _translated(function, ToolError)


def resource(function: Callable[P, T]) -> Callable[P, T]:
    """A resource that says whether there is none, or what else was wrong."""

    def error(message: str) -> Exception:
        return ResourceError(message)

    return _translated(function, error, missing=ResourceNotFoundError)


def prompt(function: Callable[P, T]) -> Callable[P, T]:
    """A prompt whose arguments may be wrong."""

    def error(message: str) -> Exception:
        return MCPError(INVALID_PARAMS, message)

    return _translated(function, error)


def _translated(
    function: Callable[P, T],
    error: Callable[[str], Exception],
    missing: Callable[[str], Exception] | None = None,
) -> Callable[P, T]:
    @functools.wraps(function)
    def translated(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except Corrupt as problem:
            raise MCPError(INTERNAL_ERROR, told(problem)) from problem
        except NotFound as problem:
            raise (missing or error)(told(problem)) from problem
        except EverloopError as problem:
            raise error(told(problem)) from problem

    return translated
