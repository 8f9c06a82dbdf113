"""The order in which lessons are shown: last used first, then newest, then by id.

The views are asked once for each sight; then only what came or changed since is asked anew, and
after a retraction everything. So what a manifest costs does not depend on how many lessons it does
not show. A cache: dropping it changes nothing but time.
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
from everloop.lessons.projections.queries import STATUS
from everloop.log import Reader, Sight, visible
from everloop.memory.model.scopes import Asker

KEPT_MAX: Final = 8  # sights


class Place(NamedTuple):
    """Where a lesson stands in line. It sorts as it is shown."""

    unused_for: int  # the newer the last use, the smaller
    age: int
    lesson_id: str
    position: int
    scope: str
    actor: str
    status: str


class LessonOrder:
    """The lines in use, by sight. Safe from several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, _Line] = OrderedDict()
        self._lock = threading.Lock()

    def first(
        self, reader: Reader, sight: Sight, who: Asker, statuses: Sequence[str], limit: int
    ) -> tuple[list[int], int]:
        """Where the first lessons of these statuses were proposed, and how many there are in all.

        Both as this asker may see them: in scope, or their own.
        """
        with self._lock:
            line = self._line(reader, sight)
            wanted = sorted(set(statuses))
            places = line.in_order(wanted)
            seen = (place for place in places if may_see(who, place.scope, place.actor))
            found = [place.position for place in islice(seen, limit)]
            return found, line.count(who, wanted)

    def _line(self, reader: Reader, sight: Sight) -> "_Line":
        """The line of a sight, as of the reader's newest position."""
        line = self._kept.get(sight.key)
        if line is None or not line.keep_up(reader):
            line = self._kept[sight.key] = _Line(reader)
        self._kept.move_to_end(sight.key)
        while len(self._kept) > KEPT_MAX:
            self._kept.popitem(last=False)
        return line


class _Line:
    """The lessons that count in one sight, in order, by status."""

    def __init__(self, reader: Reader) -> None:
        self._places: dict[int, Place] = {}
        self._ranked: dict[str, list[Place]] = {}
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._head, self._digest, self._retracted = reader.rows(_STATE, (None,))[0]
        for place in _places(reader, None):
            self._places[place.position] = place
            self._ranked.setdefault(place.status, []).append(place)
            self._counts[place.status, place.scope, place.actor] += 1
        for ranked in self._ranked.values():
            ranked.sort()

    def keep_up(self, reader: Reader) -> bool:
        """Take in what came since; False if it has to be begun anew."""
        head, digest, retracted = reader.rows(_STATE, (self._head,))[0]
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
        self._head, self._digest, self._retracted = reader.rows(_STATE, (None,))[0]
        return True

    def in_order(self, statuses: Sequence[str]) -> Iterator[Place]:
        """The places of these statuses."""
        return merge(*(self._ranked.get(status, []) for status in statuses))

    def count(self, who: Asker, statuses: Sequence[str]) -> int:
        """How many lessons of these statuses an asker may see."""
        return sum(
            number
            for (status, scope, actor), number in self._counts.items()
            if status in statuses and may_see(who, scope, actor)
        )


def _places(reader: Reader, only: Sequence[int] | None) -> Iterator[Place]:
    """The places of some lessons, or of all."""
    wanted = msgspec.json.encode(only).decode() if only is not None else None
    for row in reader.rows(_PLACES if only is None else _PLACES_OF, (wanted,)):
        position, lesson_id, scope, actor, proposed, status, used = row
        if status is not None:
            yield Place(-(used or 0), -proposed, lesson_id, position, scope, actor, status)


# The newest head, the digest at a known one (a restored log has another there), the retractions.
_STATE = """
SELECT head, (SELECT digest FROM log WHERE position = ifnull(?1, head)),
       (SELECT max(position) FROM log_retractions)
FROM (SELECT max(position) AS head FROM log)
"""
_CHANGED = """
SELECT lesson FROM lesson_statuses WHERE position > ?1
UNION SELECT lesson FROM lesson_uses WHERE position > ?1
"""
_WHAT = f"""
SELECT l.position, l.lesson_id, l.scope, l.actor, l.recorded_at, ({STATUS}), (
    SELECT u.recorded_at FROM lesson_uses u WHERE u.lesson = l.position AND {visible("u")}
    ORDER BY u.position DESC LIMIT 1)
"""  # noqa: S608 - our own conditions
_PLACES = f"{_WHAT} FROM lessons l WHERE {visible('l')} AND ?1 IS NULL"
_PLACES_OF = f"""
{_WHAT} FROM json_each(?1) j CROSS JOIN lessons l ON l.position = j.value WHERE {visible("l")}
"""
