"""Deciders of imports: begin, add files, end, and validate imported messages.

Only the user may import conversations, because imported messages count as the user's own words.
"""

from datetime import datetime

import msgspec

from everloop.errors import Corrupt, Forbidden, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event, Fact, Fold
from everloop.memory.model.scopes import OWNER
from everloop.thread.model import commands as c
from everloop.thread.model import events as e
from everloop.thread.model.state import Conversation, ImportState

ROLES = ("user", "assistant")
TEXT_MAX = 150_000  # characters; six bytes each at most, so that an event stays within its limit
YEARS = range(1970, 2200)
IMPORTS_STREAM = "imports"


class Imports(msgspec.Struct, frozen=True):
    """The imports of one log."""

    known: dict[str, ImportState] = {}


def evolve_imports(before: Imports | None, fact: Fact) -> Imports:
    """The state of all imports after an event."""
    known = before.known if before else {}
    match fact.event:
        case e.ImportBegun(import_id=import_id):
            return Imports({**known, import_id: ImportState(fact.position)})
        case e.ImportEnded(import_id=import_id, messages=messages):
            return Imports(
                {**known, import_id: ImportState(known[import_id].position, messages, True)}
            )
        case _:
            raise Corrupt(f"{fact.event.wire} at {fact.position} is not about an import")


IMPORTS = Fold("thread.imports", Imports, evolve_imports)


def open_import(
    known: Imports | None, command: c.OpenImport, asking: DecisionContext
) -> list[Event]:
    """Begin or resume an import. Idempotent: the same export is one import."""
    if asking.by.actor != OWNER:
        raise Forbidden(
            f"{asking.by.actor!r} may not import conversations: they count as the user's words",
            hint="Only the user can, in a terminal.",
        )
    if known and command.import_id in known.known:
        return []
    return [e.ImportBegun("", command.import_id, command.source, command.name)]


def add_files(
    known: Conversation | None, command: c.AddFiles, asking: DecisionContext
) -> list[Draft]:
    """Attach files the message does not have yet. `asking.known` is the message, or None."""
    begun = known.imports.get(command.import_id) if known else None
    if begun is None:
        raise NotFound(f"no import {command.import_id!r}", hint="Begin the import first.")
    if asking.known is None:
        return []  # the message was deleted in the meantime
    there = {one.digest for one in asking.known.attachments}
    new = tuple(one for one in command.attachments if one.digest not in there)
    found = e.FilesFound(command.thread_id, command.message_id, new)
    return [Draft(found, (asking.known.position, begun.position))] if new else []


def end_import(known: Imports | None, command: c.EndImport, _: DecisionContext) -> list[Draft]:
    """Record that an import is complete."""
    begun = known.known.get(command.import_id) if known else None
    if begun is None:
        raise NotFound(f"no import {command.import_id!r}", hint="It may have been deleted.")
    if begun.ended:
        return []
    ended = e.ImportEnded("", command.import_id, command.messages)
    return [Draft(ended, (begun.position,))]


def validate_imported_message(message: e.MessageImported) -> None:
    """Validate an imported message.

    Raises:
        Invalid: its role, text or time is not valid.
    """
    if message.role not in ROLES:
        raise Invalid(f"{message.role!r} is not a role", hint=f"Use {' or '.join(ROLES)}.")
    if not message.text.strip() and not message.attachments:
        raise Invalid(f"message {message.external_id!r} is empty", hint="Leave it out.")
    if len(message.text) > TEXT_MAX:
        raise Invalid(
            f"message {message.external_id!r} has more than {TEXT_MAX:,} characters",
            hint="Split it.",
        )
    parse_timestamp(message.said_at)


def parse_timestamp(written: str) -> datetime:
    """Parse the timestamp of an imported message.

    Raises:
        Invalid: it is not an ISO timestamp, has no time zone, or its year is out of range.
    """
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or at.year not in YEARS:
        raise Invalid(f"{written!r} is not a time", hint="Write it like 2026-05-17T09:30:00Z.")
    return at
