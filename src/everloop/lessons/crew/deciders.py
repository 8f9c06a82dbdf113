"""The decider table of the crew: stream, fold, decision and lookup of each command."""

from typing import Any

from everloop.lessons.crew import decide, queries
from everloop.lessons.crew.commands import (
    ActivateEntry,
    ArchiveEntry,
    EnlistEntry,
    RemoveEntry,
    ReviseEntry,
)
from everloop.lessons.crew.decide import EntryCommand
from everloop.lessons.crew.state import ENTRY, stream_of
from everloop.log import Decider


def _entry_stream(command: EntryCommand) -> str:
    return stream_of(command.sort, command.name)


CREW_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(EnlistEntry, _entry_stream, ENTRY, decide.enlist_entry, also=queries.surroundings),
    Decider(ReviseEntry, _entry_stream, ENTRY, decide.revise_entry, also=queries.surroundings),
    Decider(ActivateEntry, _entry_stream, ENTRY, decide.activate_entry, also=queries.surroundings),
    Decider(ArchiveEntry, _entry_stream, ENTRY, decide.archive_entry, also=queries.surroundings),
    Decider(RemoveEntry, _entry_stream, ENTRY, decide.remove_entry, also=queries.surroundings),
)
