"""The order of lessons in a manifest: last used first, then newest, then by id. An in-memory cache.

The tables are read once for each sight; later reads update only what changed since, and a
retraction rebuilds everything. So the cost of a manifest does not grow with the lessons that it
does not show. Dropping the cache costs time only.
"""

import threading
from bisect import bisect_left, insort
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from everloop.lessons.model.decision_context import may_see
from everloop.lessons.projections.queries import CURRENT_STATUS
from everloop.log import Reader, Sight, visible
from everloop.memory.model.scopes import Viewer

SIGHTS_MAX: Final = 8  # sights


class LessonSortKey(NamedTuple):
    """The sort key of a lesson in a manifest, with its scope, author and status."""

    unused_for: int  # the newer the last use, the smaller
    age: int
    lesson_id: str
    position: int
    scope: str
    actor: str
    status: str


class LessonOrder:
    """The sorted lessons of each sight in use. Thread-safe."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, _SortedLessons] = OrderedDict()
        self._lock = threading.Lock()

    def first(
        self, reader: Reader, sight: Sight, who: Viewer, statuses: Sequence[str], limit: int
    ) -> tuple[list[int], int]:
        """The first lessons of these statuses, by position, and how many there are in all.

        Only those that the asker may see count.
        """
        with self._lock:
            lessons = self._sorted(reader, sight)
            wanted = sorted(set(statuses))
            places = lessons.in_order(wanted)
            seen = (place for place in places if may_see(who, place.scope, place.actor))
            found = [place.position for place in islice(seen, limit)]
            return found, lessons.count(who, wanted)

    def _sorted(self, reader: Reader, sight: Sight) -> "_SortedLessons":
        """The sorted lessons of a sight, up to the reader's newest position."""
        lessons = self._kept.get(sight.key)
        if lessons is None or not lessons.catch_up(reader):
            lessons = self._kept[sight.key] = _SortedLessons(reader)
        self._kept.move_to_end(sight.key)
        while len(self._kept) > SIGHTS_MAX:
            self._kept.popitem(last=False)
        return lessons


class _SortedLessons:
    """The lessons that count in one sight, sorted, by status."""

    def __init__(self, reader: Reader) -> None:
        self._places: dict[int, LessonSortKey] = {}
        self._ranked: dict[str, list[LessonSortKey]] = {}
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._head, self._digest, self._retracted = reader.rows(_LOG_STATE, (None,))[0]
        for place in _places(reader, None):
            self._places[place.position] = place
            self._ranked.setdefault(place.status, []).append(place)
            self._counts[place.status, place.scope, place.actor] += 1
        for ranked in self._ranked.values():
            ranked.sort()

    def catch_up(self, reader: Reader) -> bool:
        """Apply the facts recorded since; False if it must be rebuilt."""
        head, digest, retracted = reader.rows(_LOG_STATE, (self._head,))[0]
        if digest != self._digest or retracted != self._retracted:
            return False
        if head == self._head:
            return True
        changed = [row[0] for row in reader.rows(_CHANGED, (self._head or 0,))]
        for position in changed:
            if old := self._places.pop(position, None):
                ranked = self._ranked[old.status]
                del ranked[bisect_left(ranked, old)]
                self._counts[old.status, old.scope, old.actor] -= 1
        for place in _places(reader, changed) if changed else ():
            self._places[place.position] = place
            insort(self._ranked.setdefault(place.status, []), place)
            self._counts[place.status, place.scope, place.actor] += 1
        self._head, self._digest, self._retracted = reader.rows(_LOG_STATE, (None,))[0]
        return True

    def in_order(self, statuses: Sequence[str]) -> Iterator[LessonSortKey]:
        """The sort keys of these statuses, merged."""
        return merge(*(self._ranked.get(status, []) for status in statuses))

    def count(self, who: Viewer, statuses: Sequence[str]) -> int:
        """How many lessons of these statuses the asker may see."""
        return sum(
            number
            for (status, scope, actor), number in self._counts.items()
            if status in statuses and may_see(who, scope, actor)
        )


def _places(reader: Reader, only: Sequence[int] | None) -> Iterator[LessonSortKey]:
    """The sort keys of some lessons, or of all."""
    wanted = msgspec.json.encode(only).decode() if only is not None else None
    for row in reader.rows(_PLACES if only is None else _PLACES_OF, (wanted,)):
        position, lesson_id, scope, actor, proposed, status, used = row
        if status is not None:
            yield LessonSortKey(-(used or 0), -proposed, lesson_id, position, scope, actor, status)


# The newest position, the digest at a known one (a restored log differs there), the retractions.
_LOG_STATE = """
SELECT head, (SELECT digest FROM log WHERE position = ifnull(?1, head)),
       (SELECT max(position) FROM log_retractions)
FROM (SELECT max(position) AS head FROM log)
"""
_CHANGED = """
SELECT lesson FROM lesson_statuses WHERE position > ?1
UNION SELECT lesson FROM lesson_uses WHERE position > ?1
"""
_COLUMNS = f"""
SELECT l.position, l.lesson_id, l.scope, l.actor, l.recorded_at, ({CURRENT_STATUS}), (
    SELECT u.recorded_at FROM lesson_uses u WHERE u.lesson = l.position AND {visible("u")}
    ORDER BY u.position DESC LIMIT 1)
"""  # noqa: S608 - our own conditions
_PLACES = f"{_COLUMNS} FROM lessons l WHERE {visible('l')} AND ?1 IS NULL"
_PLACES_OF = f"""
{_COLUMNS} FROM json_each(?1) j CROSS JOIN lessons l ON l.position = j.value WHERE {visible("l")}
"""
