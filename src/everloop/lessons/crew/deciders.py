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
from everloop.lessons.crew.state import CREW_ENTRY, entry_stream
from everloop.log import Decider


def _entry_stream(command: EntryCommand) -> str:
    return entry_stream(command.sort, command.name)


CREW_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(EnlistEntry, _entry_stream, CREW_ENTRY, decide.enlist_entry, also=queries.entry_lookup),
    Decider(ReviseEntry, _entry_stream, CREW_ENTRY, decide.revise_entry, also=queries.entry_lookup),
    Decider(
        ActivateEntry, _entry_stream, CREW_ENTRY, decide.activate_entry, also=queries.entry_lookup
    ),
    Decider(
        ArchiveEntry, _entry_stream, CREW_ENTRY, decide.archive_entry, also=queries.entry_lookup
    ),
    Decider(RemoveEntry, _entry_stream, CREW_ENTRY, decide.remove_entry, also=queries.entry_lookup),
)
