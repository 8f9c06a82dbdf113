"""Timeline queries: the windows of a thread, their summaries, and which a prompt shows today."""

from bisect import bisect_left
from collections.abc import Iterable
from datetime import date

import msgspec

from everloop.errors import NotFound
from everloop.log import Reader, visible
from everloop.thread.model.calendar_windows import (
    CalendarWindow,
    Tier,
    first_full_day,
    parse_window,
    pyramid_windows,
    window_containing,
)
from everloop.thread.pyramid.day_parts import DayPart, day_parts, find_part, is_part_key
from everloop.thread.pyramid.summary_queries import (
    WindowSummary,
    important_days,
    is_current,
    item_texts,
    newest_change_by_day,
    oldest_day,
    required_positions,
    window_summaries,
)
from everloop.thread.queries import threads
from everloop.thread.quoting import TOKENS


class TimelineWindow(msgspec.Struct, frozen=True):
    """A window with its summary, and whether a prompt shows it today.

    `state` is `open` (not over yet), `fresh`, `stale` (it changed since), `failed`, or `missing`
    (not summarised yet).
    """

    key: str
    tier: Tier
    first: date
    until: date
    messages: int
    state: str
    reason: str
    item_id: str
    text: str
    tokens: int
    shown: bool
    important: bool


class ZoomedWindow(msgspec.Struct, frozen=True):
    """A window, its windows of the tier below, and the messages if it is a day."""

    band: TimelineWindow
    below: tuple[TimelineWindow, ...]
    messages: tuple[threads.ThreadMessage, ...]


def timeline_windows(
    reader: Reader, thread_id: str, today: date, tiers: Iterable[Tier]
) -> list[TimelineWindow]:
    """Every non-empty window of these tiers, oldest first."""
    picture = _DayRange(reader, thread_id, today, date.min, date.max)
    wanted = {window_containing(day, tier) for day in picture.days for tier in tiers}
    return picture.bands(reader, sorted(wanted))


def zoom_window(reader: Reader, thread_id: str, today: date, key: str) -> ZoomedWindow:
    """Zoom into a window: itself, and the tier below.

    Raises:
        Invalid: `key` is not the name of a window.
        NotFound: `key` names a part of a day that does not exist.
    """
    if is_part_key(key):
        return _zoom_part(reader, thread_id, key)
    window = parse_window(key)
    picture = _DayRange(reader, thread_id, today, window.first, window.until)
    below = [part for part in window.children if picture.within(part)]
    band, *parts = picture.bands(reader, [window, *below])
    said: tuple[threads.ThreadMessage, ...] = ()
    if window.tier == "day":
        first, until = window.first.isoformat(), window.until.isoformat()
        said = threads.messages_of_days(reader, thread_id, first, until)
        told = day_parts(reader, thread_id, window.first, window.until)
        parts = [_part_band(part, window) for part in told]
    return ZoomedWindow(band, tuple(parts), said)


def _zoom_part(reader: Reader, thread_id: str, key: str) -> ZoomedWindow:
    part, day = find_part(reader, thread_id, key)
    if part is None:
        raise NotFound(f"no {key!r}", hint=f"Zoom into day:{day} to see its parts.")
    window = window_containing(date.fromisoformat(day), "day")
    first, until = window.first.isoformat(), window.until.isoformat()
    said = threads.messages_of_days(reader, thread_id, first, until)
    mine = tuple(one for one in said if one.message_id in part.message_ids)
    return ZoomedWindow(_part_band(part, window), (), mine)


def _part_band(part: DayPart, window: CalendarWindow) -> TimelineWindow:
    return TimelineWindow(
        part.key,
        "day",
        window.first,
        window.until,
        len(part.message_ids),
        "fresh",
        "",
        part.item_id,
        part.text,
        TOKENS(part.text),
        shown=True,
        important=False,
    )


class _DayRange:
    """Days, summaries and importance of a range of days, loaded once."""

    def __init__(
        self, reader: Reader, thread_id: str, today: date, first: date, until: date
    ) -> None:
        rows = reader.rows(_DAYS, (thread_id, first.isoformat(), until.isoformat()))
        self.days = {date.fromisoformat(day): count for day, count in rows}
        self._ordered = list(self.days)
        self._today = today
        self._known = window_summaries(reader, thread_id)
        self._needed = required_positions(newest_change_by_day(reader, thread_id, first, until))
        self._important = important_days(reader, thread_id)
        oldest = oldest_day(reader, thread_id)
        self._shown = set(pyramid_windows(today, oldest)) if oldest else set[CalendarWindow]()

    def within(self, window: CalendarWindow) -> list[date]:
        """The days of a window that have messages."""
        first = bisect_left(self._ordered, window.first)
        return self._ordered[first : bisect_left(self._ordered, window.until)]

    def bands(self, reader: Reader, windows: list[CalendarWindow]) -> list[TimelineWindow]:
        """These windows with their summaries."""
        known = [self._known[window.key] for window in windows if window.key in self._known]
        said = item_texts(reader, [one.item_id for one in known if one.item_id])
        return [self._band(window, said) for window in windows]

    def _band(self, window: CalendarWindow, said: dict[str, tuple[int, str]]) -> TimelineWindow:
        known = self._known.get(window.key)
        item_id = known.item_id if known else ""
        text = said[item_id][1] if item_id in said else ""
        in_full = window.tier == "day" and window.first >= first_full_day(self._today)
        return TimelineWindow(
            window.key,
            window.tier,
            window.first,
            window.until,
            sum(self.days[day] for day in self.within(window)),
            self._state(window, known),
            known.reason if known else "",
            item_id,
            text,
            TOKENS(text),
            in_full or window in self._shown,
            window.tier == "day" and window.first in self._important,
        )

    def _state(self, window: CalendarWindow, known: WindowSummary | None) -> str:
        if window.until > self._today:
            return "open"
        if known is None:
            return "missing"
        if known.reason:
            return "failed"
        current = is_current(window, self._known, self._needed.get(window, 0))
        return "fresh" if current else "stale"


_DAYS = f"""
SELECT m.day, count(*) FROM thread_messages m
WHERE m.thread_id = ? AND m.day >= ? AND m.day < ? AND {visible("m")} GROUP BY m.day ORDER BY m.day
"""  # noqa: S608 - our own condition
