"""JSON-RPC error responses: the one table from error class to code.

Codes from -32000 to -32004 are loop-engine's own; -32005 is ours.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from everloop.errors import EverloopError, Forbidden, NotFound, Rejected, Unavailable

PARSE: Final = -32700
INVALID_REQUEST: Final = -32600
UNKNOWN_METHOD: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
PROMOTION_BLOCKED: Final = -32000
LESSON_IMMUNE: Final = -32001
NOT_FOUND: Final = -32002
MEMORY_IMMUNE: Final = -32003
SUPERSEDE_BLOCKED: Final = -32004
FORBIDDEN: Final = -32005

ERROR_CODES: Final[dict[type[EverloopError], int]] = {
    Rejected: INVALID_PARAMS,
    NotFound: NOT_FOUND,
    Forbidden: FORBIDDEN,
    Unavailable: INTERNAL,
    EverloopError: INTERNAL,
}


class RpcError(Exception):
    """A JSON-RPC error response."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data or {}

    def to_json(self) -> dict[str, Any]:
        """The member `error` of the response."""
        document: dict[str, Any] = {"code": self.code, "message": self.message}
        return {**document, "data": self.data} if self.data else document


def to_rpc_error(problem: EverloopError, subject: str = "") -> RpcError:
    """Translate an engine error. `subject` is the id that the request is about."""
    code = _code(problem)
    data: dict[str, Any] = {"id": subject} if code == NOT_FOUND and subject else {}
    if isinstance(problem, Unavailable):
        data["retry"] = True
    if problem.hint:
        data["hint"] = problem.hint
    return RpcError(code, str(problem), data)


@contextmanager
def not_found_subject(subject: str) -> Generator[None]:
    """Report this id as the subject of a `NotFound` raised inside."""
    try:
        yield
    except NotFound as problem:
        raise to_rpc_error(problem, subject) from problem


def _code(problem: EverloopError) -> int:
    return next(ERROR_CODES[kind] for kind in type(problem).__mro__ if kind in ERROR_CODES)
