"""Who asks memory, and among what. The door decides who; an option can only narrow it.

The owner, at a terminal, may look through another's eyes. Everyone else asks as themselves, and
sees what they were granted.
"""

from argparse import Namespace
from collections.abc import Sequence

from everloop.app import Engine
from everloop.errors import Forbidden, Invalid
from everloop.interfaces.cli.dates import moment_of
from everloop.interfaces.cli.session import Session
from everloop.log import Context
from everloop.memory.browsing import named
from everloop.memory.scopes import OWNER, check_scope
from everloop.memory.shelf import Filter, Item, asker

SORTS = ("team", "skill", "project")


def speaker(session: Session) -> Context:
    """Who speaks, as commands want to know it."""
    return Context(actor=session.actor, tenant=session.tenant)


def principal_of(session: Session, asked: Namespace) -> str:
    """Through whose eyes to look.

    Raises:
        Forbidden: someone other than the owner wants to look through another's.
    """
    wanted: str = asked.principal or session.actor
    if wanted != session.actor and session.actor != OWNER:
        raise Forbidden(
            f"{session.actor} cannot look through the eyes of {wanted!r}",
            hint="Only the user can, at a terminal.",
        )
    return wanted


def only(session: Session, asked: Namespace) -> Filter:
    """What to look among."""
    scopes, sorts = _scopes(asked.scope)
    since, before = getattr(asked, "since", None), getattr(asked, "before", None)
    return Filter(
        scopes=scopes,
        scope_kinds=sorts,
        kinds=tuple(asked.kind),
        since=moment_of(since, session.now) if since else None,
        before=moment_of(before, session.now) if before else None,
        retired=getattr(asked, "retired", False),
    )


def the_item(session: Session, engine: Engine, name: str) -> Item:
    """The item that a name means to the one who speaks.

    Raises:
        NotFound: there is none that they may see.
    """
    with engine.reading() as reader:
        return named(reader, asker(reader, session.actor), name)


def not_let_in(engine: Engine, principal: str) -> list[str]:
    """What to tell someone who sees nothing because nobody let them in."""
    if principal == OWNER:
        return []
    with engine.reading() as reader:
        if asker(reader, principal).scopes:
            return []
    return [
        f"Nobody has let {principal} in, so it sees nothing."
        f" The user can: everloop grants allow {principal} SCOPE"
    ]


def _scopes(wanted: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Exact scopes, and whole sorts of them."""
    sorts = [scope.removesuffix(":*") for scope in wanted if scope.endswith(":*")]
    exact = [check_scope(scope) for scope in wanted if not scope.endswith(":*")]
    if unknown := [sort for sort in sorts if sort not in SORTS]:
        raise Invalid(
            f"{unknown[0]!r} is not a sort of scope", hint="Use team:*, skill:* or project:*."
        )
    if not sorts:
        return tuple(exact), ()
    if narrow := [scope for scope in exact if ":" in scope]:
        raise Invalid(
            f"{narrow[0]!r} cannot be asked for together with a whole sort", hint="Ask twice."
        )
    return (), (*sorts, *exact)
