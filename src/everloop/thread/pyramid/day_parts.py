"""Parts of a day: what of yesterday and today does not fit into the dialogue, summarised early.

A part is a memory item that derives from its messages, in order and of one day. A message is told
in the prompt either word for word or by the part that it is in; a part whose messages were hidden
since no longer counts, and one whose message was deleted is gone. A part is named like
`part:2026-05-17/2`, and zooming into it shows its messages. Once its day is summarised as a whole
and is no longer told in full, its parts are only there to zoom into.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby

import msgspec

from everloop.completion import Declined
from everloop.errors import EverloopError
from everloop.log import CommandBus, Log, Reader, visible
from everloop.log.model.record import to_microseconds
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.events import SUMMARY, Origin
from everloop.ports import Ids
from everloop.thread.model.calendar_windows import WIDEST, first_full_day, window_containing
from everloop.thread.pyramid.summarise import HOST, WindowSummariser, message_line
from everloop.thread.pyramid.summary_queries import item_texts
from everloop.thread.queries import threads
from everloop.thread.quoting import TOKENS
from everloop.thread.turns import ENGINE

PART_TOKENS = 3_000  # of the messages of one part, so that zooming into it shows them all
KEPT = 0.75  # of the dialogue's budget stays word for word when parts are made
_KEY = re.compile(r"part:(\d{4}-\d\d-\d\d)/(\d{1,6})")


class DayPart(msgspec.Struct, frozen=True):
    """A part of a day: its summary, and the messages that it tells of."""

    key: str
    item_id: str
    position: int
    text: str
    message_ids: tuple[str, ...]


def is_part_key(key: str) -> bool:
    """Whether a key names a part of a day."""
    return _KEY.fullmatch(key) is not None


def day_parts(reader: Reader, thread_id: str, first: date, until: date) -> list[DayPart]:
    """The parts of the days from `first` to before `until`, in order."""
    begin, end = (_midnight(day) for day in (first, until))
    bounds = (to_microseconds(begin - WIDEST), to_microseconds(end + WIDEST))
    rows = reader.rows(_PARTS, (*bounds, HOST, thread_id))
    found = item_texts(reader, [item_id for item_id, _, _ in rows])
    parts = [
        DayPart(_key(title), item_id, found[item_id][0], found[item_id][1], _told(reader, position))
        for item_id, position, title in rows
        if item_id in found
    ]
    hidden = threads.hidden_messages(reader, [one for part in parts for one in part.message_ids])
    valid = [part for part in parts if not hidden.intersection(part.message_ids)]
    return [part for part in valid if first.isoformat() <= part.key[5:15] < until.isoformat()]


def find_part(reader: Reader, thread_id: str, key: str) -> tuple[DayPart | None, str]:
    """The part with a key, if there is one, and its day."""
    found = _KEY.fullmatch(key)
    if found is None:
        return None, ""
    day = date.fromisoformat(found[1])
    parts = day_parts(reader, thread_id, day, day + timedelta(days=1))
    return next((part for part in parts if part.key == key), None), found[1]


class DayParts:
    """Summarises what of yesterday and today does not fit into the dialogue."""

    def __init__(
        self, log: Log, bus: CommandBus, ids: Ids, summarise: WindowSummariser, tokens: int
    ) -> None:
        self._log, self._bus, self._ids = log, bus, ids
        self._summarise, self._tokens = summarise, tokens

    def summarise_excess(self, thread_id: str, today: date, dialogue: int) -> int:
        """Summarise the oldest messages that exceed the dialogue's budget; returns the parts made.

        A part that fails is left for the next time: its messages can still be searched and zoomed.
        """
        made = 0
        for day, messages in self._due(thread_id, today, dialogue):
            try:
                if not self._make(thread_id, day, messages):
                    return made
            except EverloopError:
                return made
            made += 1
        return made

    def _due(
        self, thread_id: str, today: date, dialogue: int
    ) -> list[tuple[date, list[threads.ThreadMessage]]]:
        """Runs of messages that need a part, with their day, oldest first."""
        first = first_full_day(today)
        with self._log.reading() as reader:
            zones = threads.time_zones(reader)
            parts = day_parts(reader, thread_id, first, today + timedelta(days=1))
            told = {one for part in parts for one in part.message_ids}
            said = threads.messages_of_days(reader, thread_id, first.isoformat())
        left = [one for one in said if threads.is_material(one) and one.message_id not in told]
        excess = _oldest(left, dialogue)
        days = groupby(excess, key=lambda one: zones.local_date(to_microseconds(one.said_at)))
        return [(day, run) for day, group in days for run in _runs(list(group))]

    def _make(self, thread_id: str, day: date, messages: Sequence[threads.ThreadMessage]) -> bool:
        lines = [message_line(one) for one in messages]
        window = window_containing(day, "day")
        gist = self._summarise(window, [line.text for line in lines], self._tokens)
        if isinstance(gist, Declined):
            return False
        with self._log.reading() as reader:
            known = day_parts(reader, thread_id, day, day + timedelta(days=1))
        number = 1 + max((int(part.key.rpartition("/")[2]) for part in known), default=0)
        item = RememberItem(
            item_id=self._ids.new("mem-p"),
            text=gist.text,
            title=f"part {day}/{number}: {gist.title}"[:200],
            kind=SUMMARY,
            origin=Origin(host=HOST, session=thread_id),
            learned_via="inferred",
            happened_at=messages[0].said_at.isoformat(),
            derived_from=tuple(line.item_id for line in lines),
            because=tuple(line.position for line in lines),
        )
        self._bus.do(item, by=ENGINE)
        return True


# -- inside ----------------------------------------------------------------------------------------


def _oldest(left: Sequence[threads.ThreadMessage], dialogue: int) -> list[threads.ThreadMessage]:
    """The oldest messages, so many that the others take three quarters of the budget."""
    costs = [TOKENS(one.text) + 1 for one in left]
    if sum(costs) <= dialogue:
        return []
    surplus = sum(costs) - dialogue * KEPT
    gone: list[threads.ThreadMessage] = []
    for one, cost in zip(left, costs, strict=True):
        if surplus <= 0:
            break
        gone.append(one)
        surplus -= cost
    return gone


def _runs(messages: Sequence[threads.ThreadMessage]) -> list[list[threads.ThreadMessage]]:
    runs: list[list[threads.ThreadMessage]] = []
    room = 0
    for one in messages:
        cost = TOKENS(one.text) + 1
        if cost > room or not runs:
            runs.append([])
            room = PART_TOKENS
        runs[-1].append(one)
        room -= cost
    return runs


def _key(title: str) -> str:
    return f"part:{title.partition(':')[0].removeprefix('part ')}"


def _told(reader: Reader, position: int) -> tuple[str, ...]:
    return tuple(row[0] for row in reader.rows(_SOURCES, (position,)))


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


_PARTS = f"""
SELECT i.item_id, i.position, v.title FROM memory_items i
JOIN memory_versions v ON v.position = i.position
WHERE i.happened_at >= ? AND i.happened_at < ? AND i.kind = 'summary'
AND json_extract(i.origin, '$.host') = ? AND json_extract(i.origin, '$.session') = ?
AND substr(v.title, 1, 5) = 'part ' AND {visible("i")} ORDER BY i.happened_at, i.position
"""  # noqa: S608 - our own condition
_SOURCES = "SELECT s.source_id FROM memory_sources s WHERE s.position = ?"
