"""Event classes: wire names, schema numbers, JSON encoding and upcasting.

An event class is frozen data with a wire name that stays when the class is renamed. Stored events
are never edited: when a shape changes, its schema number goes up and an upcaster converts old ones
as they are read. A kind or schema that this build does not know decodes to `Unknown` and is kept.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import groupby
from typing import Any, ClassVar, TypeVar

import msgspec

from everloop.errors import RESTORE_HINT, Corrupt, Invalid

DECODE_ERRORS = (msgspec.ValidationError, msgspec.DecodeError, TypeError)  # raised by decoders

# Raised by encoders.
ENCODE_ERRORS = (UnicodeEncodeError, TypeError, OverflowError, RecursionError)

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


class Event(msgspec.Struct, frozen=True, gc=False):  # it never contains itself, so no cycles
    """Something that happened. Subclasses are declared with `@event("area.noun_happened")`."""

    wire: ClassVar[str] = ""
    schema: ClassVar[int] = 1
    supersedes: ClassVar[bool] = False  # replaces what its stream said of `because[0]`
    lasting: ClassVar[bool] = False  # stays when the text it was derived from changes


class Unknown(Event, frozen=True):
    """An event of a kind or schema that this build does not know. Folds skip it."""

    kind: str
    kind_schema: int


E = TypeVar("E", bound=Event)

_catalogue: dict[str, type[Event]] = {}
_upcasters: dict[tuple[str, int], Upcaster] = {}
_decoders: dict[tuple[str, int], Callable[[str], Event]] = {}
_class_decoders: dict[type[Event], Callable[[bytes], Event]] = {}
_encode = msgspec.json.Encoder().encode


def event(wire: str, *, schema: int = 1) -> Callable[[type[E]], type[E]]:
    """Declare an event class under its wire name, `area.noun_happened`."""

    def declare(cls: type[E]) -> type[E]:
        if wire in _catalogue:
            raise Invalid(
                f"two event classes claim the wire name {wire!r}", hint="Rename one of them."
            )
        cls.wire, cls.schema = wire, schema
        _catalogue[wire] = cls
        _decoders[wire, schema] = _class_decoders[cls] = msgspec.json.Decoder(cls).decode
        return cls

    return declare


def upcast(wire: str, *, from_schema: int) -> Callable[[Upcaster], Upcaster]:
    """Declare how to convert data of `from_schema` to the next schema."""

    def declare(lift: Upcaster) -> Upcaster:
        _upcasters[wire, from_schema] = lift
        return lift

    return declare


def is_superseding(happened: Event) -> bool:
    """Whether an event replaces earlier ones; works for purged events too, by their kind."""
    if isinstance(happened, Unknown):
        known = _catalogue.get(happened.kind)
        return known is not None and known.supersedes
    return happened.supersedes


def lasting_kinds() -> list[str]:
    """The kinds that stay visible when the text they were derived from is reworded."""
    return [wire for wire, known in _catalogue.items() if known.lasting]


def catalogue() -> dict[str, type[Event]]:
    """Every declared event class, by wire name."""
    return dict(sorted(_catalogue.items()))


def encode(happened: Event) -> bytes:
    """Encode an event as UTF-8 JSON, after checking that decoding gives an equal event.

    Raises:
        Invalid: JSON cannot represent the event, for example NaN or invalid Unicode.
    """
    read = _class_decoders.get(type(happened))
    if read is None:
        raise Invalid(
            f"{type(happened).__name__} is not a declared event",
            hint="Declare it with @event('area.noun_happened').",
        )
    try:
        data = _encode(happened)
        if read(data) == happened:
            return data
    except msgspec.ValidationError:
        pass
    except ENCODE_ERRORS as problem:
        raise Invalid(
            f"{happened.wire} cannot be written as JSON: {problem}",
            hint="Send plain text, numbers, lists and maps; text must be valid Unicode.",
        ) from problem
    raise Invalid(
        f"{happened.wire} would not read back unchanged: it has NaN or Infinity, or a wrong type",
        hint="Use the declared types, and no NaN or Infinity.",
    )


def encode_all(happened: Iterable[Event]) -> list[bytes]:
    """Encode many events; faster than `encode` where neighbours are of one class.

    Raises:
        Invalid: one of them cannot be encoded.
    """
    data: list[bytes] = []
    for cls, run in groupby(happened, type):
        data += _encode_same_class(list(run), _class_decoders.get(cls))
    return data


def _encode_same_class(happened: list[Event], read: Callable[[bytes], Event] | None) -> list[bytes]:
    if read is not None:
        with suppress(msgspec.ValidationError, *ENCODE_ERRORS):
            data = list(map(_encode, happened))
            if list(map(read, data)) == happened:
                return data
    return [encode(one) for one in happened]  # raises for the first that cannot be encoded


def decode(kind: str, schema: int, data: str) -> Event:
    """Decode an event and upcast it to the schema of this build.

    Raises:
        Corrupt: the data does not match its kind.
    """
    try:
        return decoder_for(kind, schema)(data)
    except DECODE_ERRORS as problem:
        raise decode_error(kind, schema, problem) from problem


def decode_error(kind: str, schema: int, problem: Exception) -> Corrupt:
    """The error for stored data that a decoder rejected."""
    return Corrupt(
        f"a stored {kind} (schema {schema}) cannot be decoded: {problem}", hint=RESTORE_HINT
    )


def decoder_for(kind: str, schema: int) -> Callable[[str], Event]:
    """The decoder of a kind and schema, for callers that decode many events."""
    known = _decoders.get((kind, schema))
    if known is None:
        try:
            known = _decoders[kind, schema] = _decoder(kind, schema)
        except TypeError as problem:  # a damaged file may contain anything instead of a number
            raise decode_error(kind, schema, problem) from problem
    return known


def _decoder(kind: str, schema: int) -> Callable[[str], Event]:
    cls = _catalogue.get(kind)
    if cls is None or schema > cls.schema:
        unknown = Unknown(kind=kind, kind_schema=schema)
        return lambda _: unknown
    return lambda data: msgspec.convert(_upcast_data(kind, schema, cls.schema, data), cls)


def _upcast_data(kind: str, schema: int, target: int, data: str) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.json.decode(data)
    for step in range(schema, target):
        lift = _upcasters.get((kind, step))
        if lift is None:
            raise Corrupt(
                f"{kind} has no upcaster from schema {step} to {step + 1}",
                hint="Use the version of Everloop that wrote this log, or a newer one.",
            )
        value = lift(value)
    return value
