"""A line of JSON, read strictly: what two readers could understand differently is refused.

`json` alone would take NaN, repeated members and halves of characters. The limits on length and
depth keep one hostile line from costing more than its answer.
"""

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

DIGITS_MAX = 20  # of a whole number of 64 bits, with its sign


class Unreadable(Exception):
    """A line that is not JSON, or not JSON that everybody reads alike."""


def parse(line: bytes, depth_max: int) -> Json:
    """The value that a line holds.

    Raises:
        Unreadable: it holds none, or one that is too deep.
    """
    try:
        text = line.decode()
        value: Json = _DECODER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as problem:
        raise Unreadable(f"it is nested deeper than {depth_max} levels") from problem
    except ValueError as problem:  # of the text, its UTF-8, a number, or half a character
        raise Unreadable(_why(problem)) from problem
    if _deeper(value, depth_max):
        raise Unreadable(f"it is nested deeper than {depth_max} levels")
    return value


def _deeper(value: Json, depth_max: int) -> bool:
    """Whether a value is nested deeper than that. Level by level, so it needs no stack."""
    level = [value]
    for _ in range(depth_max):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return any(isinstance(inner, dict | list) for inner in level)


def _inside(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("an object has a member twice")
    return found


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _whole(text: str) -> int:
    value = int(text) if len(text) <= DIGITS_MAX else None
    if value is None or not -(2**63) <= value < 2**64:
        raise ValueError(f"the number {text[:DIGITS_MAX]} does not fit into 64 bits")
    return value


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:DIGITS_MAX]} is too large")
    return value


def _why(problem: ValueError) -> str:
    if isinstance(problem, UnicodeError):
        return "it is not valid Unicode"
    return str(problem)[:200]


_DECODER = json.JSONDecoder(
    object_pairs_hook=_once, parse_constant=_constant, parse_float=_number, parse_int=_whole
)
