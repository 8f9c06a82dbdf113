"""Reads the fields of hand-written front matter and JSON, converted to their types. Pure."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from everloop.errors import Invalid

T = TypeVar("T")


def normalise_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with normalised names: `argument-hint` becomes `argument_hint`."""
    return {str(name).replace("-", "_"): value for name, value in fields.items()}


def text_field(said: Mapping[str, Any], field: str) -> str:
    """A text field; empty if it is missing."""
    return typed_field(said, field, str, default="")


def list_field(said: Mapping[str, Any], field: str) -> list[str]:
    """A list field; a single text is a list of one."""
    given = said.get(field)
    return (
        [given]
        if isinstance(given, str) and given
        else typed_field(said, field, list[str], default=[])
    )


def typed_field(said: Mapping[str, Any], field: str, kind: type[T], *, default: T) -> T:
    """The value of a field; the default if it is missing or empty."""
    given = said.get(field)
    return default if given is None or given == "" else convert_field(field, given, kind)


def convert_field(field: str, given: Any, kind: type[T]) -> T:
    """Convert a value to its type. Front matter has texts only, so `true` and `5` may be texts.

    Raises:
        Invalid: it has another type; the message names the field.
    """
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as problem:
        raise Invalid(f"{field}: {problem}", hint="See docs/packs.md for the format.") from None
