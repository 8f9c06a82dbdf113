"""Fields as people write them, by name, each as its type. Pure."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from everloop.errors import Invalid

T = TypeVar("T")


def named(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields by the names we use: `argument-hint` and `argument_hint` are one."""
    return {str(name).replace("-", "_"): value for name, value in fields.items()}


def text(said: Mapping[str, Any], field: str) -> str:
    """One text; empty if the field is not there."""
    return value(said, field, str, default="")


def texts(said: Mapping[str, Any], field: str) -> list[str]:
    """A list of texts; one text by itself is a list of one."""
    given = said.get(field)
    return (
        [given] if isinstance(given, str) and given else value(said, field, list[str], default=[])
    )


def value(said: Mapping[str, Any], field: str, kind: type[T], *, default: T) -> T:
    """What a field says; the default if it says nothing."""
    given = said.get(field)
    return default if given is None or given == "" else converted(field, given, kind)


def converted(field: str, given: Any, kind: type[T]) -> T:
    """What was given, as its type. Pages know texts only, so `true` and `5` may be texts.

    Raises:
        Invalid: it cannot be read so; the message names the field.
    """
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as problem:
        raise Invalid(f"{field}: {problem}", hint="Write it as docs/packs.md shows.") from None
