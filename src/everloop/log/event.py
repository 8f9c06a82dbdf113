"""Events as classes: wire names, schemas, encoding and upcasting.

An event class is frozen data with a wire name that outlives any renaming of the class. Stored
events are never edited: when a shape changes, its schema number goes up and an upcaster lifts the
old ones as they are read. What this build does not know decodes to `Unknown`, and is kept.
"""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import msgspec

from everloop.errors import Corrupt, Invalid

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


class Event(msgspec.Struct, frozen=True):
    """Something that happened. Subclasses are declared with `@event("area.noun_happened")`."""

    wire: ClassVar[str] = ""
    schema: ClassVar[int] = 1


class Unknown(Event, frozen=True):
    """An event of a kind or schema that this build does not know. Folds pass over it."""

    kind: str
    kind_schema: int


E = TypeVar("E", bound=Event)

_catalogue: dict[str, type[Event]] = {}
_upcasters: dict[tuple[str, int], Upcaster] = {}
_decoders: dict[tuple[str, int], Callable[[str], Event]] = {}
_lossy: set[str] = set()  # kinds that hold floats or free-form data, where JSON could lose a value
_encode = msgspec.json.Encoder().encode


def event(wire: str, *, schema: int = 1) -> Callable[[type[E]], type[E]]:
    """Declare an event class under its wire name, `area.noun_happened`."""

    def declare(cls: type[E]) -> type[E]:
        if wire in _catalogue:
            raise Invalid(f"two event classes claim the wire name {wire!r}")
        cls.wire, cls.schema = wire, schema
        _catalogue[wire] = cls
        _decoders[wire, schema] = msgspec.json.Decoder(cls).decode
        if _may_lose_values(msgspec.inspect.type_info(cls)):
            _lossy.add(wire)
        return cls

    return declare


def upcast(wire: str, *, from_schema: int) -> Callable[[Upcaster], Upcaster]:
    """Declare how data of `from_schema` becomes data of the next schema."""

    def declare(lift: Upcaster) -> Upcaster:
        _upcasters[wire, from_schema] = lift
        return lift

    return declare


def catalogue() -> dict[str, type[Event]]:
    """Every declared event class, by wire name."""
    return dict(sorted(_catalogue.items()))


def encode(happened: Event) -> str:
    """The event as JSON text.

    Raises:
        Invalid: the event holds something JSON cannot say, such as NaN or half a character.
    """
    if not happened.wire:
        raise Invalid(
            f"{type(happened).__name__} is not a declared event",
            hint="Declare it with @event('area.noun_happened').",
        )
    try:
        text = _encode(happened).decode()
    except (UnicodeEncodeError, TypeError, OverflowError) as problem:
        raise Invalid(
            f"{happened.wire} cannot be written as JSON: {problem}",
            hint="Send plain text, numbers, lists and maps; text must be valid Unicode.",
        ) from problem
    if happened.wire in _lossy and msgspec.json.decode(text) != msgspec.to_builtins(happened):
        raise Invalid(
            f"{happened.wire} holds a number that JSON cannot say (NaN or Infinity)",
            hint="Leave the value out, or send it as text.",
        )
    return text


def decode(kind: str, schema: int, data: str) -> Event:
    """The event that `data` says, lifted to the schema of this build.

    Raises:
        Corrupt: the data does not fit its kind.
    """
    decoder = _decoders.get((kind, schema))
    if decoder is None:
        decoder = _decoders[kind, schema] = _decoder(kind, schema)
    try:
        return decoder(data)
    except (msgspec.ValidationError, msgspec.DecodeError) as problem:
        raise Corrupt(f"a stored {kind} (schema {schema}) does not fit: {problem}") from problem


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
            raise Corrupt(f"no upcaster lifts {kind} from schema {step} to {step + 1}")
        value = lift(value)
    return value


def _may_lose_values(shape: Any) -> bool:
    """Whether a value of this type could hold NaN, which the JSON encoder writes as null."""
    if isinstance(shape, msgspec.inspect.FloatType | msgspec.inspect.AnyType):
        return True
    return any(_may_lose_values(part) for part in _parts(shape))


def _parts(shape: Any) -> list[Any]:
    match shape:
        case msgspec.inspect.StructType(fields=fields):
            return [field.type for field in fields]
        case msgspec.inspect.UnionType(types=types):
            return list(types)
        case msgspec.inspect.TupleType(item_types=items):
            return list(items)
        case msgspec.inspect.DictType(key_type=key, value_type=value):
            return [key, value]
        case (
            msgspec.inspect.ListType(item_type=item)
            | msgspec.inspect.VarTupleType(item_type=item)
            | msgspec.inspect.SetType(item_type=item)
            | msgspec.inspect.FrozenSetType(item_type=item)
        ):
            return [item]
        case _:
            return []
