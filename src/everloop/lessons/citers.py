"""Which of those that stand on memories an asker may know of: lessons and crew, by their names."""

from collections.abc import Collection
from typing import get_args

from everloop.lessons.crew.events import Sort
from everloop.lessons.crew.queries import STATUSES, headlines
from everloop.lessons.crew.state import stream_of
from everloop.lessons.projections.queries import known_to
from everloop.log import Reader
from everloop.memory.model.scopes import Asker


def known_citers(reader: Reader, who: Asker, names: Collection[str]) -> set[str]:
    """Those of the names that are lessons, skills, personas or teams which the asker may see."""
    found = known_to(reader, who, names)
    for sort in get_args(Sort):
        begin = stream_of(sort, "")
        if any(name.startswith(begin) for name in names):
            seen = headlines(reader, who, sort, STATUSES)
            found |= {stream_of(sort, each.name) for each in seen}.intersection(names)
    return found
