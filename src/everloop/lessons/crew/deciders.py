"""The commands about the crew and how each is decided: one row each, for the composition root."""

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


def _entry(command: EntryCommand) -> str:
    return stream_of(command.sort, command.name)


CREW_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(EnlistEntry, _entry, ENTRY, decide.enlist_entry, also=queries.surroundings),
    Decider(ReviseEntry, _entry, ENTRY, decide.revise_entry, also=queries.surroundings),
    Decider(ActivateEntry, _entry, ENTRY, decide.activate_entry, also=queries.surroundings),
    Decider(ArchiveEntry, _entry, ENTRY, decide.archive_entry, also=queries.surroundings),
    Decider(RemoveEntry, _entry, ENTRY, decide.remove_entry, also=queries.surroundings),
)
