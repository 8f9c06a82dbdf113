"""One connection: a line in, a line out, in order. Knows JSON-RPC 2.0 and no method.

A request without an `id` is a notification: it is carried out and not answered. An answer carries
an `id` only when the request did, so a line that cannot be read is answered without one.
"""

import traceback
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from everloop.errors import EverloopError
from everloop.interfaces.rpc.errors import (
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE,
    UNKNOWN_METHOD,
    Fault,
    fault_of,
)
from everloop.interfaces.rpc.lines import TooLong
from everloop.interfaces.rpc.parsing import Json, Unreadable, parse
from everloop.settings import DoorSettings

H = TypeVar("H")

Document = dict[str, Any]
Say = Callable[[str], None]
VERSION = "2.0"


class Method(NamedTuple, Generic[H]):
    """What can be called: the shape of its parameters, and what carries it out."""

    params: type[msgspec.Struct]
    call: Callable[[H, Any], Document]


class Conversation(Generic[H]):
    """What one host says and hears. `say` takes what belongs into the log of the process."""

    def __init__(
        self, host: H, methods: Mapping[str, Method[H]], limits: DoorSettings, say: Say
    ) -> None:
        self._host = host
        self._methods = methods
        self._limits = limits
        self._say = say

    def answer(self, line: bytes | TooLong) -> bytes | None:
        """The line that answers a line, if anything is to be answered."""
        try:
            asked = self._read(line)
        except Fault as fault:
            return _encoded(_error({}, fault))
        batch = asked if isinstance(asked, list) else [asked]
        answers = [told for each in batch if (told := self._one(each)) is not None]
        if not answers:
            return None
        return _encoded(answers if isinstance(asked, list) else answers[0])

    def _read(self, line: bytes | TooLong) -> Json:
        if isinstance(line, TooLong):
            longest = self._limits.line_bytes_max
            raise Fault(PARSE, f"parse error: the line is longer than {longest:,} bytes")
        try:
            asked = parse(line, self._limits.depth_max)
        except Unreadable as problem:
            raise Fault(PARSE, f"parse error: {problem}") from problem
        _check_batch(asked, self._limits.batch_max)
        return asked

    def _one(self, request: Json) -> Document | None:
        """The answer to one request; None for a notification."""
        if not isinstance(request, dict):
            return _error({}, Fault(INVALID_REQUEST, "invalid request: it is not an object"))
        named = {"id": request["id"]} if "id" in request else {}
        try:
            _check_request(request)
        except Fault as fault:
            return _error(named if _is_id(request.get("id")) else {}, fault)
        try:
            told = {"jsonrpc": VERSION, **named, "result": self._carry_out(request)}
        except Fault as fault:
            told = _error(named, fault)
        return told if named else None

    def _carry_out(self, request: Document) -> Document:
        name = request["method"]
        method = self._methods.get(name)
        if method is None:
            raise Fault(UNKNOWN_METHOD, f"method not found: {name[:100]}")
        params = _params(method.params, request.get("params"))
        try:
            return method.call(self._host, params)
        except EverloopError as problem:
            raise fault_of(problem, getattr(params, "id", "")) from problem
        except Fault:
            raise
        except Exception as problem:  # the outermost frame of this door
            self._say("".join(traceback.format_exception(problem)))
            kind = type(problem).__name__
            raise Fault(INTERNAL, f"internal error: a fault in Everloop ({kind})") from problem


def _check_batch(asked: Json, batch_max: int) -> None:
    batch = asked if isinstance(asked, list) else [asked]
    if not batch:
        raise Fault(INVALID_REQUEST, "invalid request: the batch is empty")
    if len(batch) > batch_max:
        raise Fault(INVALID_REQUEST, f"invalid request: a batch has at most {batch_max:,} requests")


def _check_request(request: Document) -> None:
    if request.get("jsonrpc") != VERSION:
        raise Fault(INVALID_REQUEST, 'invalid request: `jsonrpc` is not "2.0"')
    if "id" in request and not _is_id(request["id"]):
        raise Fault(INVALID_REQUEST, "invalid request: `id` is no string, number or null")
    if not isinstance(request.get("method"), str):
        raise Fault(INVALID_REQUEST, "invalid request: `method` is no string")
    if not isinstance(request.get("params"), dict | list | None):
        raise Fault(INVALID_REQUEST, "invalid request: `params` is no object or array")


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))


def _params(shape: type[msgspec.Struct], given: Document | list[Any] | None) -> msgspec.Struct:
    """The parameters, by name or by place. One that is null is one that is absent."""
    if isinstance(given, list):
        names = [field.encode_name for field in msgspec.structs.fields(shape)]
        if len(given) > len(names):
            raise Fault(INVALID_PARAMS, f"invalid params: there are at most {len(names)}")
        given = dict(zip(names, given, strict=False))
    present = {name: value for name, value in (given or {}).items() if value is not None}
    try:
        return msgspec.convert(present, shape)
    except msgspec.ValidationError as problem:
        raise Fault(INVALID_PARAMS, f"invalid params: {problem}") from problem


def _error(named: Document, fault: Fault) -> Document:
    return {"jsonrpc": VERSION, **named, "error": fault.document()}


def _encoded(told: Document | list[Document]) -> bytes:
    return msgspec.json.encode(told) + b"\n"
