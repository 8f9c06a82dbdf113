"""Reading JSON of unknown origin: bounded in size and depth, with an error that names the file."""

from typing import Any, cast

import msgspec

from everloop.errors import Invalid
from everloop.worlds.exchange.settings import ExchangeLimits

BOM = b"\xef\xbb\xbf"

JsonObject = dict[str, Any]


def decode_object(content: bytes, name: str, limits: ExchangeLimits) -> JsonObject:
    """The JSON object in a file.

    Raises:
        Invalid: it is too large, too deep, no JSON, or not an object.
    """
    value = decode_json(content, name, limits)
    if not isinstance(value, dict):
        raise Invalid(f"{name!r} is JSON, but no object", hint="A card or lorebook begins with {.")
    return cast("JsonObject", value)


def decode_json(content: bytes, name: str, limits: ExchangeLimits) -> object:
    """The JSON value in a file.

    Raises:
        Invalid: it is too large, too deep, or no JSON.
    """
    if len(content) > limits.file_bytes_max:
        raise Invalid(
            f"{name!r} has {len(content):,} bytes, more than {limits.file_bytes_max:,}",
            hint="The setting exchange.file_bytes_max allows larger files.",
        )
    try:
        value: object = msgspec.json.decode(content.removeprefix(BOM))
    except RecursionError:
        raise _too_deep(name, limits) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise Invalid(f"{name!r} is not JSON: {problem}", hint="Export it again.") from None
    if _is_deeper(value, limits.depth_max):
        raise _too_deep(name, limits)
    return value


def encode_json(value: object) -> str:
    """A value as compact JSON."""
    return msgspec.json.encode(value).decode()


def as_object(value: object) -> JsonObject:
    """The value if it is an object, or else an empty one."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """The value if it is a list, or else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """The value if it is text, or else none."""
    return value if isinstance(value, str) else ""


def as_texts(value: object) -> tuple[str, ...]:
    """The texts of a list; other values in it are left out."""
    return tuple(one for one in as_list(value) if isinstance(one, str))


def as_int(value: object, default: int) -> int:
    """The value if it is a number, or else a default."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return int(value) if abs(value) < 2**53 else default


def _is_deeper(value: object, depth: int) -> bool:
    level: list[object] = [value]
    for _ in range(depth + 1):
        level = [
            inner
            for one in level
            for inner in (
                cast("JsonObject", one).values()
                if isinstance(one, dict)
                else cast("list[object]", one)
                if isinstance(one, list)
                else ()
            )
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _too_deep(name: str, limits: ExchangeLimits) -> Invalid:
    return Invalid(
        f"{name!r} is nested deeper than {limits.depth_max} levels",
        hint="It is broken or hostile; the setting exchange.depth_max allows more.",
    )
