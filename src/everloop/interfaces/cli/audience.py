"""Access control for reading: who reads, with which filters, as of when.

The session decides who reads; options can only narrow that. The owner, at a terminal, may read as
another user or agent. Everyone else reads as themselves and sees what they were granted. Data
without an audience of its own (the raw log, conversations, hosts, devices) is for the owner, and
for those who were granted everything: `can_read_everything` is that rule, for every command.
"""

from argparse import Namespace
from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

import msgspec

from everloop.app import Engine
from everloop.errors import Forbidden, Invalid
from everloop.interfaces.cli.parsing.time_argument import parse_position_or_time, parse_time
from everloop.interfaces.cli.session import Session
from everloop.log import AffectedFact, Context, Impact
from everloop.memory import OWNER, Filter, Item, check_scope, load_viewer, resolve_item

SCOPE_TYPES = ("team", "skill", "project")
EVERYTHING = "*"
FILTERS = ("scope", "kind", "since", "before", "pinned")
_HIDDEN_BY_WITNESSES = """
SELECT 1 FROM memory_witnesses w
WHERE w.principal NOT GLOB 'character:*' AND w.principal NOT GLOB 'player:*' AND NOT EXISTS (
    SELECT 1 FROM memory_witnesses m WHERE m.position = w.position AND m.principal = ?) LIMIT 1
"""
_OF_WORLDS = """
SELECT 1 FROM log WHERE stream GLOB 'world:*' OR stream GLOB 'character:*'
OR stream GLOB 'lorebook:*' OR stream = 'world-imports' LIMIT 1
"""
_WRITTEN_BY = (
    "SELECT position FROM log WHERE actor = ? AND position IN (SELECT value FROM json_each(?))"
)


def command_context(session: Session) -> Context:
    """The actor and tenant of this session, as commands take them."""
    return Context(actor=session.actor, tenant=session.tenant)


def effective_principal(session: Session, args: Namespace) -> str:
    """The user or agent whose access applies: that of `--for`, or the actor of the session.

    Raises:
        Forbidden: someone other than the owner asks for the access of another.
    """
    wanted: str = args.principal or session.actor
    if wanted != session.actor and session.actor != OWNER:
        raise Forbidden(
            f"{session.actor} cannot view memory as {wanted!r}",
            hint="Only the user can, at a terminal.",
        )
    return wanted


def can_read_everything(session: Session, engine: Engine) -> bool:
    """Whether the actor of the session may read everything that is recorded.

    The owner may. Others may if they were granted every scope, no memory is restricted to
    witnesses that do not include them, and no story is played here: no grant includes worlds.
    """
    with engine.reading() as reader:
        who = load_viewer(reader, session.actor)
        if who.is_owner:
            return True
        if EVERYTHING not in who.scopes or reader.rows(_OF_WORLDS):
            return False
        return not reader.rows(_HIDDEN_BY_WITNESSES, (who.principal,))


def check_can_read_everything(session: Session, engine: Engine) -> None:
    """Check that the actor of the session may read everything that is recorded.

    Raises:
        Forbidden: the actor may not.
    """
    if can_read_everything(session, engine):
        return
    with engine.reading() as reader:
        granted = EVERYTHING in load_viewer(reader, session.actor).scopes
    grant = f" or grant access: everloop grants allow {session.actor} '{EVERYTHING}'"
    raise Forbidden(
        f"{session.actor} does not have access to everything that is recorded here",
        hint=f"Run it at a terminal as the user{'.' if granted else grant}",
    )


def visible_impact(session: Session, engine: Engine, impact: Impact) -> Impact:
    """The part of an impact that the actor may see: all of it, or only their own facts."""
    if can_read_everything(session, engine):
        return impact
    affected = [each.position for each in (*impact.hides, *impact.restores)]
    with engine.reading() as reader:
        rows = reader.rows(_WRITTEN_BY, (session.actor, msgspec.json.encode(affected).decode()))
    own = {row[0] for row in rows}

    def visible(facts: Sequence[AffectedFact]) -> tuple[AffectedFact, ...]:
        return tuple(each for each in facts if each.position in own)

    return Impact(visible(impact.hides), visible(impact.restores))


class ReadPoint(TypedDict):
    """The branch to read, and the position or time as of which to read it."""

    branch: str | None
    as_of: int | datetime | None


def read_point(session: Session, engine: Engine, args: Namespace) -> ReadPoint:
    """The branch and time to read memory from, as the options say.

    Only the owner may read an earlier state or another branch. Everyone else's access is decided by
    today's grants: an earlier state could show them what was revoked or retracted since.

    Raises:
        Forbidden: someone other than the owner asks for an earlier state or another branch.
        Invalid: the log does not reach that position.
    """
    if session.actor != OWNER and (args.as_of is not None or args.branch):
        raise Forbidden(
            f"{session.actor} can only read the current state of the current branch",
            hint="Only the user can, at a terminal.",
        )
    as_of = None if args.as_of is None else parse_position_or_time(args.as_of, session.now)
    if isinstance(as_of, int) and as_of > (head := engine.log.head):
        raise Invalid(
            f"the log has no position {as_of} yet", hint=f"The newest position is {head}."
        )
    return ReadPoint(branch=args.branch, as_of=as_of)


def build_filter(session: Session, args: Namespace) -> Filter:
    """The filter that the options describe."""
    scopes, types = _scopes(args.scope)
    since, before = getattr(args, "since", None), getattr(args, "before", None)
    return Filter(
        scopes=scopes,
        scope_kinds=types,
        kinds=tuple(args.kind),
        since=None if since is None else parse_time(since, session.now),
        before=None if before is None else parse_time(before, session.now),
        retired=getattr(args, "retired", False),
    )


def is_filtered(args: Namespace) -> bool:
    """Whether the options filter the results."""
    return any(getattr(args, name, None) for name in FILTERS)


def find_visible_item(session: Session, engine: Engine, name: str) -> Item:
    """Find a memory by its ID, or a unique ending of it, among those that the actor may see.

    Raises:
        NotFound: no visible memory has this ID.
    """
    with engine.reading() as reader:
        return resolve_item(reader, load_viewer(reader, session.actor), name)


def check_has_grant(session: Session, engine: Engine, *, found: int = 0) -> None:
    """Check that the actor of the session may ask, unless something was found: its own lessons.

    Raises:
        Forbidden: it has no grant, so that an empty answer would say nothing.
    """
    if not found and not _has_grant(engine, session.actor):
        raise Forbidden(
            f"{session.actor} has no access to memory",
            hint=f"The user can grant it, at a terminal: everloop grants allow {session.actor}"
            " SCOPE",
        )


def missing_grant_notes(engine: Engine, principal: str) -> list[str]:
    """A note for who sees nothing because they have no grant."""
    if _has_grant(engine, principal):
        return []
    return [
        f"{principal} has no access to memory, so nothing is shown."
        f" The user can grant it, at a terminal: everloop grants allow {principal} SCOPE"
    ]


def _has_grant(engine: Engine, principal: str) -> bool:
    if principal == OWNER:
        return True
    with engine.reading() as reader:
        return bool(load_viewer(reader, principal).scopes)


def _scopes(wanted: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split scopes into exact ones and whole types such as `project:*`."""
    types = [scope.removesuffix(":*") for scope in wanted if scope.endswith(":*")]
    exact = [check_scope(scope) for scope in wanted if not scope.endswith(":*")]
    if unknown := [each for each in types if each not in SCOPE_TYPES]:
        raise Invalid(
            f"{unknown[0]!r} is not a type of scope", hint="Use team:*, skill:* or project:*."
        )
    if not types:
        return tuple(exact), ()
    if narrow := [scope for scope in exact if ":" in scope]:
        raise Invalid(
            f"{narrow[0]!r} cannot be combined with a wildcard scope", hint="Run the command twice."
        )
    return (), (*types, *exact)
