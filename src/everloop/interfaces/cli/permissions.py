"""Permissions for undoing: scripts and agents may undo their own facts, not those of the user.

Facts about lessons, hosts and access are protected too, whoever recorded them. Otherwise an agent
with a shell could bypass the rules of these domains and retract a thumbs-down, a failed verdict,
the end of trust in a host, or the revocation of a device. It can still discard a lesson.
"""

from collections.abc import Iterable

from everloop.app import Engine
from everloop.errors import Forbidden, Invalid
from everloop.interfaces.cli.session import USER, Session
from everloop.log import visible

NOTES = "notes"
PROTECTED_STREAMS = ("access", "lesson:", "host:", "sentiment:")  # prefixes of protected streams
_PROTECTED = f"""
SELECT l.position FROM log l WHERE {visible("l")} AND (
    l.actor = '{USER}' OR {" OR ".join(f"l.stream GLOB '{start}*'" for start in PROTECTED_STREAMS)})
"""  # noqa: S608 - our own conditions


def check_note_stream(stream: str) -> str:
    """Check that a note goes to a stream of notes: other streams belong to their domains.

    Raises:
        Invalid: the stream is not for notes.
    """
    if stream != NOTES and not stream.startswith(f"{NOTES}:"):
        raise Invalid(f"{stream!r} is not a stream for notes", hint=f"Use {NOTES} or {NOTES}:NAME.")
    return stream


def check_can_undo(session: Session, engine: Engine, positions: Iterable[int]) -> None:
    """Check that the actor may undo these facts: the user any, others only unprotected ones.

    Raises:
        Forbidden: one of the facts is protected and the actor is not the user.
    """
    if session.actor == USER:
        return
    for position in positions:
        record = engine.log.record(position)
        if record.actor == USER or record.stream.startswith(PROTECTED_STREAMS):
            raise _forbidden(session, position)


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
        before = {row[0] for row in reader.rows(_PROTECTED)}
        reader.use_sight(branches.sight_from(branch))
        lost = before - {row[0] for row in reader.rows(_PROTECTED)}
    if lost:
        raise _forbidden(session, min(lost))


def _forbidden(session: Session, position: int) -> Forbidden:
    return Forbidden(
        f"{session.actor} cannot undo position {position}; only the user can",
        hint="Run it at a terminal as the user.",
    )
