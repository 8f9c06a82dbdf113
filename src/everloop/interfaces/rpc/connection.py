"""The JSON-RPC 2.0 protocol on one connection: a line in, a line out, in order. Knows no method.

A request without an `id` is a notification: it is executed and gets no response. A response has an
`id` only if the request had one, so a line that cannot be parsed is answered without one.
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
    RpcError,
    to_rpc_error,
)
from everloop.interfaces.rpc.lines import LineTooLong
from everloop.interfaces.rpc.parsing import InvalidJson, Json, parse_json
from everloop.settings import DoorSettings

H = TypeVar("H")

JsonObject = dict[str, Any]
WriteLogLine = Callable[[str], None]
VERSION = "2.0"


class RpcMethod(NamedTuple, Generic[H]):
    """A method: the type of its parameters, and the function that executes it."""

    params: type[msgspec.Struct]
    call: Callable[[H, Any], JsonObject]


class RpcConnection(Generic[H]):
    """Answers the requests of one host. `say` receives lines for the process's own log."""

    def __init__(
        self, host: H, methods: Mapping[str, RpcMethod[H]], limits: DoorSettings, say: WriteLogLine
    ) -> None:
        self._host = host
        self._methods = methods
        self._limits = limits
        self._say = say

    def respond(self, line: bytes | LineTooLong) -> bytes | None:
        """The response to a line; None if it has only notifications."""
        try:
            asked = self._read(line)
        except RpcError as fault:
            return _encode(_error({}, fault))
        batch = asked if isinstance(asked, list) else [asked]
        answers = [response for each in batch if (response := self._respond(each)) is not None]
        if not answers:
            return None
        return _encode(answers if isinstance(asked, list) else answers[0])

    def _read(self, line: bytes | LineTooLong) -> Json:
        if isinstance(line, LineTooLong):
            bytes_max = self._limits.line_bytes_max
            raise RpcError(PARSE, f"parse error: the line is longer than {bytes_max:,} bytes")
        try:
            asked = parse_json(line, self._limits.depth_max)
        except InvalidJson as problem:
            raise RpcError(PARSE, f"parse error: {problem}") from problem
        _check_batch(asked, self._limits.batch_max)
        return asked

    def _respond(self, request: Json) -> JsonObject | None:
        """The response to one request; None for a notification."""
        if not isinstance(request, dict):
            return _error({}, RpcError(INVALID_REQUEST, "invalid request: it is not an object"))
        id_member = {"id": request["id"]} if "id" in request else {}
        try:
            _check_request(request)
        except RpcError as fault:
            return _error(id_member if _is_id(request.get("id")) else {}, fault)
        try:
            response = {"jsonrpc": VERSION, **id_member, "result": self._execute(request)}
        except RpcError as fault:
            response = _error(id_member, fault)
        return response if id_member else None

    def _execute(self, request: JsonObject) -> JsonObject:
        name = request["method"]
        method = self._methods.get(name)
        if method is None:
            raise RpcError(UNKNOWN_METHOD, f"method not found: {name[:100]}")
        params = _params(method.params, request.get("params"))
        try:
            return method.call(self._host, params)
        except EverloopError as problem:
            raise to_rpc_error(problem, getattr(params, "id", "")) from problem
        except RpcError:
            raise
        except Exception as problem:  # the outermost frame of this interface
            self._say("".join(traceback.format_exception(problem)))
            kind = type(problem).__name__
            raise RpcError(INTERNAL, f"internal error: a fault in Everloop ({kind})") from problem


def _check_batch(asked: Json, batch_max: int) -> None:
    batch = asked if isinstance(asked, list) else [asked]
    if not batch:
        raise RpcError(INVALID_REQUEST, "invalid request: the batch is empty")
    if len(batch) > batch_max:
        raise RpcError(
            INVALID_REQUEST, f"invalid request: a batch has at most {batch_max:,} requests"
        )


def _check_request(request: JsonObject) -> None:
    if request.get("jsonrpc") != VERSION:
        raise RpcError(INVALID_REQUEST, 'invalid request: `jsonrpc` is not "2.0"')
    if "id" in request and not _is_id(request["id"]):
        raise RpcError(INVALID_REQUEST, "invalid request: `id` is no string, number or null")
    if not isinstance(request.get("method"), str):
        raise RpcError(INVALID_REQUEST, "invalid request: `method` is no string")
    if not isinstance(request.get("params"), dict | list | None):
        raise RpcError(INVALID_REQUEST, "invalid request: `params` is no object or array")


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))


def _params(shape: type[msgspec.Struct], given: JsonObject | list[Any] | None) -> msgspec.Struct:
    """Decode parameters given by name or by position. A null parameter counts as absent."""
    if isinstance(given, list):
        names = [field.encode_name for field in msgspec.structs.fields(shape)]
        if len(given) > len(names):
            raise RpcError(INVALID_PARAMS, f"invalid params: there are at most {len(names)}")
        given = dict(zip(names, given, strict=False))
    present = {name: value for name, value in (given or {}).items() if value is not None}
    try:
        return msgspec.convert(present, shape)
    except msgspec.ValidationError as problem:
        raise RpcError(INVALID_PARAMS, f"invalid params: {problem}") from problem


def _error(id_member: JsonObject, fault: RpcError) -> JsonObject:
    return {"jsonrpc": VERSION, **id_member, "error": fault.to_json()}


def _encode(response: JsonObject | list[JsonObject]) -> bytes:
    return msgspec.json.encode(response) + b"\n"
