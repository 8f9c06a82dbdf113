"""Visibility of citers: which lessons and crew entries that cite memories an asker may see."""

from collections.abc import Collection
from typing import get_args

from everloop.lessons.crew.events import Sort
from everloop.lessons.crew.queries import STATUSES, headlines
from everloop.lessons.crew.state import stream_of
from everloop.lessons.projections.queries import known_to
from everloop.log import Reader
from everloop.memory.model.scopes import Asker


def known_citers(reader: Reader, who: Asker, names: Collection[str]) -> set[str]:
    """Those of the names that are lessons, skills, personas or teams the asker may see."""
    found = known_to(reader, who, names)
    for sort in get_args(Sort):
        prefix = stream_of(sort, "")
        if any(name.startswith(prefix) for name in names):
            seen = headlines(reader, who, sort, STATUSES)
            found |= {stream_of(sort, each.name) for each in seen}.intersection(names)
    return found
