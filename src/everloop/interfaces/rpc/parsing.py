"""A strict JSON parser: input that two parsers could read differently is refused.

The standard `json` accepts NaN, duplicate keys and lone surrogates. Limits on length and depth
keep a hostile line cheap.
"""

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

DIGITS_MAX = 20  # of a 64-bit integer, with its sign


class InvalidJson(Exception):
    """A line that is not JSON, or is ambiguous JSON."""


def parse_json(line: bytes, depth_max: int) -> Json:
    """Parse a line.

    Raises:
        Unreadable: it is not strict JSON, or is nested too deeply.
    """
    try:
        text = line.decode()
        value: Json = _DECODER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as problem:
        raise InvalidJson(f"it is nested deeper than {depth_max} levels") from problem
    except ValueError as problem:  # invalid JSON, UTF-8 or number, or a lone surrogate
        raise InvalidJson(_message(problem)) from problem
    if _is_too_deep(value, depth_max):
        raise InvalidJson(f"it is nested deeper than {depth_max} levels")
    return value


def _is_too_deep(value: Json, depth_max: int) -> bool:
    """Whether a value is nested deeper than the limit. Iterative, so it needs no stack."""
    level = [value]
    for _ in range(depth_max):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return False
    return any(isinstance(inner, dict | list) for inner in level)


def _children(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("an object has a member twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _integer(text: str) -> int:
    value = int(text) if len(text) <= DIGITS_MAX else None
    if value is None or not -(2**63) <= value < 2**64:
        raise ValueError(f"the number {text[:DIGITS_MAX]} does not fit into 64 bits")
    return value


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:DIGITS_MAX]} is too large")
    return value


def _message(problem: ValueError) -> str:
    if isinstance(problem, UnicodeError):
        return "it is not valid Unicode"
    return str(problem)[:200]


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_constant=_refuse_constant,
    parse_float=_float,
    parse_int=_integer,
)
