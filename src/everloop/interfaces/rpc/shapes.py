"""JSON shapes that several methods share: scopes, filters, origins, times, previews and pages."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from everloop.errors import Invalid
from everloop.memory import Filter, Item, Origin, check_scope

PREVIEW_CHARACTERS: Final = 240
PAGE_SIZE: Final = 50
PAGE_MAX: Final = 500
NO_SCOPE: Final = ("",)  # no memory has it
UNNAMED_SCOPES: Final = ("user", "global")  # scopes without a name part

Scope = str | dict[str, str]
Id = Annotated[str, Meta(min_length=1, max_length=200)]
NonNegativeInt = Annotated[int, Meta(ge=0, le=2**63 - 1)]  # SQLite's largest integer
NonEmptyText = Annotated[str, Meta(min_length=1)]


class ExactScope(msgspec.Struct, frozen=True, tag_field="kind", tag="exact"):
    """Only this scope."""

    scope: Scope


class ScopesOfKind(msgspec.Struct, frozen=True, tag_field="kind", tag="kind"):
    """Every scope of this kind."""

    kind_name: Literal["user", "team", "skill", "project", "global"]


class AnyOfScopes(msgspec.Struct, frozen=True, tag_field="kind", tag="any_of"):
    """Only these scopes."""

    scopes: tuple[Scope, ...]


ScopeFilter = ExactScope | ScopesOfKind | AnyOfScopes


class OriginParams(msgspec.Struct, frozen=True):
    """The origin of a memory, as a host claims it."""

    host: str | None = None
    session_id: str | None = None
    model: str | None = None
    cwd_basename: str | None = None
    written_at: str | None = None


def parse_scope(wire: Scope) -> str:
    """Parse a scope from JSON into the engine's form: `user`, `team:x`.

    Raises:
        Invalid: it is not a scope.
    """
    if isinstance(wire, str):
        return wire if wire in UNNAMED_SCOPES else _refuse_scope(wire)
    if len(wire) != 1:
        return _refuse_scope(wire)
    [(kind, name)] = wire.items()
    return check_scope(f"{kind}:{name}")


def scope_json(scope: str) -> Scope:
    """A scope as JSON: `user`, `{"team": "x"}`."""
    kind, colon, name = scope.partition(":")
    return {kind: name} if colon else scope


def parse_scope_filter(wanted: ScopeFilter | None) -> Filter:
    """Convert a scope filter from JSON into a query filter."""
    match wanted:
        case ExactScope(scope=scope):
            return Filter(scopes=(parse_scope(scope),))
        case ScopesOfKind(kind_name=kind):
            return Filter(scope_kinds=(kind,))
        case AnyOfScopes(scopes=scopes):
            return Filter(scopes=tuple(parse_scope(scope) for scope in scopes) or NO_SCOPE)
        case None:
            return Filter()


def parse_origin(whence: OriginParams) -> Origin:
    """The claimed origin of a memory. The true session is recorded separately."""
    return Origin(
        host=whence.host or "",
        session=whence.session_id or "",
        model=whence.model or "",
        folder=(whence.cwd_basename or "").replace("\\", "/").rstrip("/").rpartition("/")[2],
    )


def origin_json(item: Item) -> dict[str, str] | None:
    """The origin of a memory as JSON; None if it is unknown."""
    fields = {
        "host": item.origin.host,
        "session_id": item.origin.session,
        "model": item.origin.model,
        "cwd_basename": item.origin.folder,
        "written_at": time_json(item.happened_at) if item.happened_at != item.recorded_at else "",
    }
    return {name: value for name, value in fields.items() if value} or None


def time_json(at: datetime) -> str:
    """A time as RFC 3339 in UTC, with milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def preview(text: str, *, whole: bool = False) -> str:
    """The first characters of a text, or all of it."""
    return text if whole else text[:PREVIEW_CHARACTERS]


def page_json(
    results: Sequence[dict[str, Any]], *, total: int, limit: int, offset: int
) -> dict[str, Any]:
    """One page of a list as JSON."""
    return {
        "total": total,
        "limit": limit,
        "offset": offset,
        "returned": len(results),
        "results": list(results),
    }


def _refuse_scope(wire: Scope) -> str:
    raise Invalid(
        f"{wire!r} is not a scope",
        hint='Use "user", "global", {"team": id}, {"skill": id} or {"project": id}.',
    )
