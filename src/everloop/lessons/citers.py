"""Visibility of citers: which lessons and crew entries that cite memories an asker may see."""

from collections.abc import Collection
from typing import get_args

from everloop.lessons.crew.events import Sort
from everloop.lessons.crew.queries import ENTRY_STATUSES, entry_summaries
from everloop.lessons.crew.state import entry_stream
from everloop.lessons.projections.queries import visible_lesson_ids
from everloop.log import Reader
from everloop.memory.model.scopes import Viewer


def visible_citer_names(reader: Reader, who: Viewer, names: Collection[str]) -> set[str]:
    """Those of the names that are lessons, skills, personas or teams the asker may see."""
    found = visible_lesson_ids(reader, who, names)
    for sort in get_args(Sort):
        prefix = entry_stream(sort, "")
        if any(name.startswith(prefix) for name in names):
            seen = entry_summaries(reader, who, sort, ENTRY_STATUSES)
            found |= {entry_stream(sort, each.name) for each in seen}.intersection(names)
    return found
