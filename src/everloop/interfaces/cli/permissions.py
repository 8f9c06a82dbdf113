"""Permissions of scripts and agents: they undo their own facts only, and bring in no log.

Importing, moving or restoring a log can put any words, trust or device into the user's name, so
only the user does it, at a terminal.

Facts about lessons, hosts, access, tasks, the inbox, conversations and worlds are protected too,
whoever recorded them. Otherwise an agent with a shell could bypass the rules of these domains and
retract a thumbs-down, the end of trust in a host, the revocation of a device, or what its own task
has cost and why it was paused. It can still discard a lesson.
"""

from collections.abc import Iterable

import msgspec

from everloop.app import Engine
from everloop.errors import Forbidden, Invalid
from everloop.interfaces.cli.session import USER, Session
from everloop.log import Impact, visible

ENGINE = "engine"
NOTES = "notes"
PROTECTED_STREAMS = (
    "access",
    "audience:",
    "lesson:",
    "host:",
    "gate:",
    "sentiment:",
    "words:",
    "task:",
    "transcript:",
    "inbox:",
    "notifications",
    "schedule:",
    "start_rules",
    "thread:",
    "instructions",
    "models",
    "world",
    "character:",
    "lorebook:",
)  # prefixes of protected streams
_STREAMS = " OR ".join(f"l.stream GLOB '{start}*'" for start in PROTECTED_STREAMS)
_PROTECTED = f"""
SELECT l.position FROM log l WHERE {visible("l")} AND (
    l.actor NOT IN (?, '{ENGINE}') OR {_STREAMS})
"""  # noqa: S608 - our own conditions
_HIDDEN_BY = """
SELECT DISTINCT hidden_by FROM log_hidden
WHERE position IN (SELECT value FROM json_each(?)) AND hidden_by > ?
"""


def require_user(session: Session, act: str) -> None:
    """Check that a person at a terminal runs the command. `--yes` does not stand for one.

    Raises:
        Forbidden: it is a script or an agent's shell.
    """
    if session.actor != USER:
        raise Forbidden(
            f"only the user can {act}", hint="Run it yourself at a terminal; --yes is not enough."
        )


def check_note_stream(stream: str) -> str:
    """Check that a note goes to a stream of notes: other streams belong to their domains.

    Raises:
        Invalid: the stream is not for notes.
    """
    if stream != NOTES and not stream.startswith(f"{NOTES}:"):
        raise Invalid(f"{stream!r} is not a stream for notes", hint=f"Use {NOTES} or {NOTES}:NAME.")
    return stream


def check_can_undo(session: Session, engine: Engine, positions: Iterable[int]) -> None:
    """Check that the actor may undo these facts: the user any, others only unprotected own ones.

    Raises:
        Forbidden: one of the facts is protected and the actor is not the user.
    """
    if session.actor == USER:
        return
    for position in positions:
        record = engine.log.record(position)
        others = record.actor not in (session.actor, ENGINE)
        if others or record.stream.startswith(PROTECTED_STREAMS):
            raise _forbidden(session, position)


def check_can_rewind(session: Session, engine: Engine, impact: Impact, to: int) -> None:
    """Check that the actor may undo what a rewind hides, and the retractions that it ends.

    Raises:
        Forbidden: one of them is protected and the actor is not the user.
    """
    if session.actor == USER:
        return
    restored = [each.position for each in impact.restores]
    with engine.log.file.reading() as reader:
        rows = reader.rows(_HIDDEN_BY, (msgspec.json.encode(restored).decode(), to))
    hidden = [each.position for each in impact.hides]
    check_can_undo(session, engine, (*hidden, *restored, *(row[0] for row in rows)))


def check_can_switch(session: Session, engine: Engine, branch: str) -> None:
    """Check that switching to a branch hides no protected fact, unless the user does it.

    Raises:
        Forbidden: a protected fact would be hidden.
    """
    if session.actor == USER:
        return
    branches = engine.log.branches
    current = branches.current[branches[branch].root]
    with engine.log.file.reading() as reader:
        reader.use_sight(branches.sight_from(current))
        before = {row[0] for row in reader.rows(_PROTECTED, (session.actor,))}
        reader.use_sight(branches.sight_from(branch))
        lost = before - {row[0] for row in reader.rows(_PROTECTED, (session.actor,))}
    if lost:
        raise _forbidden(session, min(lost))


def _forbidden(session: Session, position: int) -> Forbidden:
    return Forbidden(
        f"{session.actor} cannot undo position {position}; only the user can",
        hint="Run it at a terminal as the user.",
    )
