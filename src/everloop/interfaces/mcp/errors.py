"""Maps Everloop's errors to MCP errors, with the hint that lets a model recover."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from everloop.errors import Corrupt, EverloopError, NotFound

P = ParamSpec("P")
T = TypeVar("T")


def error_text(problem: EverloopError) -> str:
    """The error message followed by its hint."""
    return f"{problem}. {problem.hint_without_cli}" if problem.hint else str(problem)


def wrap_tool(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a tool so that its errors are tool errors, which a model can read."""
    return _translate_errors(function, ToolError)


def wrap_resource(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a resource so that its errors are resource errors."""

    def error(message: str) -> Exception:
        return ResourceError(message)

    return _translate_errors(function, error, missing=ResourceNotFoundError)


def wrap_prompt(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a prompt so that its errors are invalid-params errors."""

    def error(message: str) -> Exception:
        return MCPError(INVALID_PARAMS, message)

    return _translate_errors(function, error)


def _translate_errors(
    function: Callable[P, T],
    error: Callable[[str], Exception],
    missing: Callable[[str], Exception] | None = None,
) -> Callable[P, T]:
    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except Corrupt as problem:
            raise MCPError(INTERNAL_ERROR, error_text(problem)) from problem
        except NotFound as problem:
            raise (missing or error)(error_text(problem)) from problem
        except EverloopError as problem:
            raise error(error_text(problem)) from problem

    return wrapped
