"""Events as classes: wire names, schemas, encoding and upcasting.

An event class is frozen data with a wire name that outlives any renaming of the class. Stored
events are never edited: when a shape changes, its schema number goes up and an upcaster lifts the
old ones as they are read. What this build does not know decodes to `Unknown`, and is kept.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import groupby
from typing import Any, ClassVar, TypeVar

import msgspec

from everloop.errors import RESTORE, Corrupt, Invalid

MISFITS = (msgspec.ValidationError, msgspec.DecodeError, TypeError)  # what a decoder raises

UNSAYABLE = (UnicodeEncodeError, TypeError, OverflowError, RecursionError)  # what an encoder raises

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


class Event(msgspec.Struct, frozen=True, gc=False):  # it holds data, and so never itself
    """Something that happened. Subclasses are declared with `@event("area.noun_happened")`."""

    wire: ClassVar[str] = ""
    schema: ClassVar[int] = 1
    supersedes: ClassVar[bool] = False  # takes the place of what its stream said of `because[0]`
    lasting: ClassVar[bool] = False  # stands on a thing, not on its words; stays when those change


class Unknown(Event, frozen=True):
    """An event of a kind or schema that this build does not know. Folds pass over it."""

    kind: str
    kind_schema: int


E = TypeVar("E", bound=Event)

_catalogue: dict[str, type[Event]] = {}
_upcasters: dict[tuple[str, int], Upcaster] = {}
_decoders: dict[tuple[str, int], Callable[[str], Event]] = {}
_readers: dict[type[Event], Callable[[bytes], Event]] = {}  # the decoder of each declared class
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
        _decoders[wire, schema] = _readers[cls] = msgspec.json.Decoder(cls).decode
        return cls

    return declare


def upcast(wire: str, *, from_schema: int) -> Callable[[Upcaster], Upcaster]:
    """Declare how data of `from_schema` becomes data of the next schema."""

    def declare(lift: Upcaster) -> Upcaster:
        _upcasters[wire, from_schema] = lift
        return lift

    return declare


def is_superseding(happened: Event) -> bool:
    """Whether an event takes the place of earlier ones, also when only its kind is left of it."""
    if isinstance(happened, Unknown):
        known = _catalogue.get(happened.kind)
        return known is not None and known.supersedes
    return happened.supersedes


def lasting_kinds() -> list[str]:
    """The kinds that stay when what they stand on is reworded."""
    return [wire for wire, known in _catalogue.items() if known.lasting]


def catalogue() -> dict[str, type[Event]]:
    """Every declared event class, by wire name."""
    return dict(sorted(_catalogue.items()))


def encode(happened: Event) -> bytes:
    """The event as JSON in UTF-8, once it is sure that a replay would see the very same event.

    Raises:
        Invalid: the event holds something JSON cannot say, such as NaN or half a character.
    """
    read = _readers.get(type(happened))
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
    except UNSAYABLE as problem:
        raise Invalid(
            f"{happened.wire} cannot be written as JSON: {problem}",
            hint="Send plain text, numbers, lists and maps; text must be valid Unicode.",
        ) from problem
    raise Invalid(
        f"{happened.wire} would not read back as it is: NaN or Infinity, or a wrong type",
        hint="Use the declared types, and leave out numbers that JSON cannot say.",
    )


def encode_all(happened: Iterable[Event]) -> list[bytes]:
    """As `encode`, for many events, with less to do for each where neighbours are of one class.

    Raises:
        Invalid: one of them cannot be written.
    """
    data: list[bytes] = []
    for cls, run in groupby(happened, type):
        data += _encode_alike(list(run), _readers.get(cls))
    return data


def _encode_alike(happened: list[Event], read: Callable[[bytes], Event] | None) -> list[bytes]:
    if read is not None:
        with suppress(msgspec.ValidationError, *UNSAYABLE):
            data = list(map(_encode, happened))
            if list(map(read, data)) == happened:
                return data
    return [encode(one) for one in happened]  # says which cannot be written, and why


def decode(kind: str, schema: int, data: str) -> Event:
    """The event that `data` says, lifted to the schema of this build.

    Raises:
        Corrupt: the data does not fit its kind.
    """
    try:
        return decoder(kind, schema)(data)
    except MISFITS as problem:
        raise misfit(kind, schema, problem) from problem


def misfit(kind: str, schema: int, problem: Exception) -> Corrupt:
    """What it means that a decoder failed."""
    return Corrupt(f"a stored {kind} (schema {schema}) does not fit: {problem}", hint=RESTORE)


def decoder(kind: str, schema: int) -> Callable[[str], Event]:
    """What decodes data of a kind and schema, for those who have much of it."""
    known = _decoders.get((kind, schema))
    if known is None:
        try:
            known = _decoders[kind, schema] = _decoder(kind, schema)
        except TypeError as problem:  # a damaged file may hold anything in place of a number
            raise misfit(kind, schema, problem) from problem
    return known


def _decoder(kind: str, schema: int) -> Callable[[str], Event]:
    cls = _catalogue.get(kind)
    if cls is None or schema > cls.schema:
        unknown = Unknown(kind=kind, kind_schema=schema)
        return lambda _: unknown
    return lambda data: msgspec.convert(_lift(kind, schema, cls.schema, data), cls)


def _lift(kind: str, schema: int, target: int, data: str) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.json.decode(data)
    for step in range(schema, target):
        lift = _upcasters.get((kind, step))
        if lift is None:
            raise Corrupt(
                f"no upcaster lifts {kind} from schema {step} to {step + 1}",
                hint="This build lacks an @upcast; use the one that wrote the log.",
            )
        value = lift(value)
    return value
