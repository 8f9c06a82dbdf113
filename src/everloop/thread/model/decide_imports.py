"""Decisions about imports as a whole: what came in, from where, and what may come in at all.

Only a person can bring in what was said elsewhere: it holds words that count as theirs.
"""

from datetime import datetime

import msgspec

from everloop.errors import Corrupt, Forbidden, Invalid, NotFound
from everloop.log import Asking, Draft, Event, Fact, Fold
from everloop.memory.model.scopes import OWNER
from everloop.thread.model import commands as c
from everloop.thread.model import events as e
from everloop.thread.model.state import Conversation, Import

ROLES = ("user", "assistant")
TEXT_MAX = 150_000  # characters; six bytes each at most, so that an event stays within its limit
YEARS = range(1970, 2200)
IMPORTS_STREAM = "imports"


class Imports(msgspec.Struct, frozen=True):
    """The imports of one log."""

    known: dict[str, Import] = {}


def evolve_imports(before: Imports | None, fact: Fact) -> Imports:
    """The imports after a fact."""
    known = before.known if before else {}
    match fact.event:
        case e.ImportBegun(import_id=import_id):
            return Imports({**known, import_id: Import(fact.position)})
        case e.ImportEnded(import_id=import_id, messages=messages):
            return Imports({**known, import_id: Import(known[import_id].position, messages, True)})
        case _:
            raise Corrupt(f"{fact.event.wire} at {fact.position} is about no import")


IMPORTS = Fold("thread.imports", Imports, evolve_imports)


def open_import(known: Imports | None, command: c.OpenImport, asking: Asking) -> list[Event]:
    """Begin it, or go on with it: the same import is one."""
    if asking.by.actor != OWNER:
        raise Forbidden(
            f"{asking.by.actor} cannot bring in conversations: they hold the user's words",
            hint="The user can, at a terminal.",
        )
    if known and command.import_id in known.known:
        return []
    return [e.ImportBegun("", command.import_id, command.source, command.name)]


def add_files(known: Conversation | None, command: c.AddFiles, asking: Asking) -> list[Draft]:
    """Take in what is not beside the message yet. `asking.known` is the message, if it is there."""
    begun = known.imports.get(command.import_id) if known else None
    if begun is None:
        raise NotFound(f"no import {command.import_id!r}", hint="Begin it first.")
    if asking.known is None:
        return []  # it was taken back meanwhile
    there = {one.digest for one in asking.known.attachments}
    new = tuple(one for one in command.attachments if one.digest not in there)
    found = e.FilesFound(command.thread_id, command.message_id, new)
    return [Draft(found, (asking.known.position, begun.position))] if new else []


def end_import(known: Imports | None, command: c.EndImport, _: Asking) -> list[Draft]:
    """Say that it is complete."""
    begun = known.known.get(command.import_id) if known else None
    if begun is None:
        raise NotFound(f"no import {command.import_id!r}", hint="It was taken back.")
    if begun.ended:
        return []
    ended = e.ImportEnded("", command.import_id, command.messages)
    return [Draft(ended, (begun.position,))]


def check_imported(message: e.MessageImported) -> None:
    """Refuse what no page could show.

    Raises:
        Invalid: its role, its text or its time is impossible.
    """
    if message.role not in ROLES:
        raise Invalid(f"{message.role!r} is no role", hint=f"Use {' or '.join(ROLES)}.")
    if not message.text.strip() and not message.attachments:
        raise Invalid(f"{message.external_id!r} says nothing", hint="Leave it out.")
    if len(message.text) > TEXT_MAX:
        raise Invalid(f"{message.external_id!r} is too long", hint="Split it.")
    said_at(message.said_at)


def said_at(written: str) -> datetime:
    """When something was said.

    Raises:
        Invalid: it is no moment, has no zone, or is none at which anybody could have said it.
    """
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or at.year not in YEARS:
        raise Invalid(f"{written!r} is no time", hint="Use a form such as 2026-05-17T09:30:00Z.")
    return at
