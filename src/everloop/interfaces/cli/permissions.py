"""What a script may undo: what scripts and agents wrote. What the user recorded is the user's.

So is what was recorded of lessons, of hosts and of who is let in, whoever passed it on. An agent
with a shell could otherwise take back a thumbs-down, a failed verdict, that the user no longer
trusts a host, or that a device was revoked, by going around the rules that guard them. It can still
discard a lesson.
"""

from collections.abc import Iterable

from everloop.app import Engine
from everloop.errors import Forbidden, Invalid
from everloop.interfaces.cli.session import USER, Session
from everloop.log import visible

NOTES = "notes"
GUARDED = ("access", "lesson:", "host:", "sentiment:")  # streams by how they begin
_THEIRS = f"""
SELECT l.position FROM log l WHERE {visible("l")} AND (
    l.actor = '{USER}' OR {" OR ".join(f"l.stream GLOB '{start}*'" for start in GUARDED)})
"""  # noqa: S608 - our own conditions


def check_stream(stream: str) -> str:
    """The stream of a note, if it is one: every other stream belongs to what stands on it.

    Raises:
        Invalid: it is not.
    """
    if stream != NOTES and not stream.startswith(f"{NOTES}:"):
        raise Invalid(f"{stream!r} is no stream for notes", hint=f"Use {NOTES} or {NOTES}:NAME.")
    return stream


def check_own(session: Session, engine: Engine, positions: Iterable[int]) -> None:
    """Let the user undo everything, and others what is theirs.

    Raises:
        Forbidden: one of these is the user's, and it is not the user who asks.
    """
    if session.actor == USER:
        return
    for position in positions:
        record = engine.log.record(position)
        if record.actor == USER or record.stream.startswith(GUARDED):
            raise _forbidden(session, position)


def check_stand(session: Session, engine: Engine, branch: str) -> None:
    """Let others stand only where nothing goes out of sight that is the user's.

    Raises:
        Forbidden: something would.
    """
    if session.actor == USER:
        return
    branches = engine.log.branches
    here = branches.standing[branches[branch].root]
    with engine.log.file.reading() as reader:
        reader.look(branches.standing_with(here))
        seen = {row[0] for row in reader.rows(_THEIRS)}
        reader.look(branches.standing_with(branch))
        lost = seen - {row[0] for row in reader.rows(_THEIRS)}
    if lost:
        raise _forbidden(session, min(lost))


def _forbidden(session: Session, position: int) -> Forbidden:
    return Forbidden(
        f"{session.actor} cannot undo position {position}, which is the user's to undo",
        hint="Only the user can, at a terminal.",
    )
