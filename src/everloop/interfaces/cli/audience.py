"""Who asks memory, and among what. The door decides who; an option can only narrow it.

The owner, at a terminal, may look through another's eyes. Everyone else asks as themselves, and
sees what they were granted. What has no audience of its own (the log as it is, conversations,
hosts, devices) is for the owner, and for those who were granted everything: `reads_all` is that
rule, for every command.
"""

from argparse import Namespace
from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

import msgspec

from everloop.app import Engine
from everloop.errors import Forbidden, Invalid
from everloop.interfaces.cli.parsing.dates import moment_of, position_or_moment
from everloop.interfaces.cli.session import Session
from everloop.log import Context, Impact
from everloop.log.history.impact import Touched
from everloop.memory.browse.queries import named
from everloop.memory.model.scopes import OWNER, check_scope
from everloop.memory.projections.queries import Filter, Item, asker

SORTS = ("team", "skill", "project")
EVERYTHING = "*"
FILTERS = ("scope", "kind", "since", "before", "pinned")
_KEPT_FROM = """
SELECT 1 FROM memory_witnesses w WHERE NOT EXISTS (
    SELECT 1 FROM memory_witnesses m WHERE m.position = w.position AND m.principal = ?) LIMIT 1
"""
_BY = "SELECT position FROM log WHERE actor = ? AND position IN (SELECT value FROM json_each(?))"


def speaker(session: Session) -> Context:
    """Who speaks, as commands want to know it."""
    return Context(actor=session.actor, tenant=session.tenant)


def principal_of(session: Session, args: Namespace) -> str:
    """Through whose eyes to look.

    Raises:
        Forbidden: someone other than the owner wants to look through another's.
    """
    wanted: str = args.principal or session.actor
    if wanted != session.actor and session.actor != OWNER:
        raise Forbidden(
            f"{session.actor} cannot look through the eyes of {wanted!r}",
            hint="Only the user can, at a terminal.",
        )
    return wanted


def reads_all(session: Session, engine: Engine) -> bool:
    """Whether the one who speaks may see all that is recorded, whoever it is for.

    The owner may; so may one who was let into every scope, unless something is for witnesses alone
    of whom they are none.
    """
    with engine.reading() as reader:
        who = asker(reader, session.actor)
        if who.owner:
            return True
        return EVERYTHING in who.scopes and not reader.rows(_KEPT_FROM, (who.principal,))


def check_reads_all(session: Session, engine: Engine) -> None:
    """Let only those go on who may see all that is recorded.

    Raises:
        Forbidden: the one who speaks may not.
    """
    if reads_all(session, engine):
        return
    with engine.reading() as reader:
        granted = EVERYTHING in asker(reader, session.actor).scopes
    let_in = f"The user can let it in: everloop grants allow {session.actor} '{EVERYTHING}'. "
    raise Forbidden(
        f"{session.actor} may not see all that is recorded here",
        hint=f"{'' if granted else let_in}The user sees it, at a terminal.",
    )


def in_sight(session: Session, engine: Engine, impact: Impact) -> Impact:
    """What of an impact to show the one who speaks: all of it, or what they wrote themselves."""
    if reads_all(session, engine):
        return impact
    touched = [each.position for each in (*impact.hides, *impact.restores)]
    with engine.reading() as reader:
        rows = reader.rows(_BY, (session.actor, msgspec.json.encode(touched).decode()))
    theirs = {row[0] for row in rows}

    def seen(facts: Sequence[Touched]) -> tuple[Touched, ...]:
        return tuple(each for each in facts if each.position in theirs)

    return Impact(seen(impact.hides), seen(impact.restores))


class Standpoint(TypedDict):
    """From where to look: a branch, and how far."""

    branch: str | None
    as_of: int | datetime | None


def standpoint(session: Session, engine: Engine, args: Namespace) -> Standpoint:
    """From where memory is looked at.

    Only the owner looks from elsewhere. Whoever else may ask is a question of today: what they were
    let into then, and what was taken back from them since, is no longer theirs.

    Raises:
        Forbidden: somebody else asks for how it stood, or for another branch.
        Invalid: the log does not reach that far.
    """
    if session.actor != OWNER and (args.as_of is not None or args.branch):
        raise Forbidden(
            f"{session.actor} may ask for what there is, not for what there was",
            hint="The user can, at a terminal.",
        )
    as_of = None if args.as_of is None else position_or_moment(args.as_of, session.now)
    if isinstance(as_of, int) and as_of > (head := engine.log.head):
        raise Invalid(f"the log has no position {as_of} yet", hint=f"The newest is {head}.")
    return Standpoint(branch=args.branch, as_of=as_of)


def only(session: Session, args: Namespace) -> Filter:
    """What to look among."""
    scopes, sorts = _scopes(args.scope)
    since, before = getattr(args, "since", None), getattr(args, "before", None)
    return Filter(
        scopes=scopes,
        scope_kinds=sorts,
        kinds=tuple(args.kind),
        since=None if since is None else moment_of(since, session.now),
        before=None if before is None else moment_of(before, session.now),
        retired=getattr(args, "retired", False),
    )


def narrowed(args: Namespace) -> bool:
    """Whether only some of what there is was asked for."""
    return any(getattr(args, name, None) for name in FILTERS)


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
