"""Resolves the scope of an MCP request: the one named, plus `global`. Unknown scopes fail closed.

An agent that names an unknown project gets no results and a clear notice: results from another
scope would look like a real answer.
"""

from typing import Final, NamedTuple

from everloop.app import Engine
from everloop.errors import Forbidden, NotFound
from everloop.lessons import lesson_page, lesson_positions
from everloop.log import Reader
from everloop.memory import (
    WORLD_PREFIX,
    Item,
    Viewer,
    check_scope,
    load_viewer,
    scope_has_items,
    visible_scopes,
)

GLOBAL: Final = "global"
ALWAYS_KNOWN_SCOPES: Final = ("user", GLOBAL)
LISTED_SCOPES_MAX: Final = 20
LESSONS_MAX: Final = 500  # read to list the scopes in use


class SearchScopes(NamedTuple):
    """The scopes to search and notices for the caller. Without scopes, nothing is searched."""

    scopes: tuple[str, ...]
    notices: tuple[str, ...] = ()

    @property
    def audience(self) -> Viewer:
        """An audience that sees exactly these scopes, whoever the caller is."""
        return Viewer("", self.scopes)


def resolve_scopes(engine: Engine, principal: str, scope: str) -> SearchScopes:
    """The scopes to search for a request about one scope.

    Raises:
        Invalid: it is not a scope.
    """
    check_scope(scope)
    with engine.reading() as reader:
        who = load_viewer(reader, principal)
        if not who.scopes:
            return SearchScopes((), (no_access_notice(principal),))
        if _is_known(reader, who, scope):
            both = dict.fromkeys((scope, GLOBAL))
            return SearchScopes(tuple(each for each in both if who.has_scope(each)))
        return SearchScopes((), (_unknown_scope_notice(scope, _scopes_in_use(reader, who)),))


def check_writable(engine: Engine, principal: str, scope: str) -> tuple[str, ...]:
    """Check that a host may write to a scope, and return notices for it.

    Raises:
        Invalid: it is not a scope.
        Forbidden: the host has no access to it.
    """
    check_scope(scope)
    if scope.startswith(WORLD_PREFIX):
        raise Forbidden(
            f"{principal} cannot write into {scope!r}",
            hint="A world is for reading: use `read_scene` or `what_does_character_know`.",
        )
    with engine.reading() as reader:
        who = load_viewer(reader, principal)
        if not who.has_scope(scope):
            raise Forbidden(
                f"{principal} has no access to {scope!r}",
                hint=f"The user can give it: everloop grants allow {principal} {scope}",
            )
        if _is_known(reader, who, scope):
            return ()
        return (f"NOTICE: {scope!r} is a new scope. If you mistyped it, tell the user.",)


def wrong_scope_error(name: str, scope: str, found: Item) -> NotFound:
    """The error for a memory that is in another scope, which the caller may see."""
    return NotFound(
        f"no memory {name!r} in {scope!r}", hint=f"It is in {found.scope!r}; use that scope."
    )


def no_access_notice(principal: str) -> str:
    """The notice for a host that has no access to any scope."""
    return (
        f"NOTICE: {principal} has no access to any scope, so NOTHING was searched."
        f" The user can give it: everloop grants allow {principal} SCOPE"
    )


def _is_known(reader: Reader, who: Viewer, scope: str) -> bool:
    if not who.has_scope(scope):
        return False
    if scope in ALWAYS_KNOWN_SCOPES or scope_has_items(reader, who, scope):
        return True
    return bool(lesson_positions(reader, Viewer("", (scope,))))


def _scopes_in_use(reader: Reader, who: Viewer) -> list[str]:
    """The visible scopes that contain a memory or a lesson, sorted."""
    lessons = lesson_page(reader, who, limit=LESSONS_MAX).lessons
    return sorted({*visible_scopes(reader, who), *(lesson.scope for lesson in lessons)})


def _unknown_scope_notice(scope: str, known: list[str]) -> str:
    listed = ", ".join(known[:LISTED_SCOPES_MAX]) or "none yet"
    more = f" and {len(known) - LISTED_SCOPES_MAX} more" if len(known) > LISTED_SCOPES_MAX else ""
    return (
        f"NOTICE: the scope {scope!r} is unknown, so NOTHING was searched."
        f" Scopes in use: {listed}{more}. Try again with one of these, or tell the user that"
        " nothing is known."
    )
