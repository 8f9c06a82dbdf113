"""Queries on the summary pyramid: current summaries, and how fresh each has to be.

A day changes when it gets a message, when a message is hidden, or when its importance changes; a
week changes when one of its days does, and so on upwards. A summary is as fresh as the newest fact
it covers (`upto`). Where branches of a thread share a window, the freshest summary wins.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

import msgspec

from everloop.log import Reader, visible
from everloop.log.model.facts import Retracted
from everloop.log.model.record import from_microseconds, to_microseconds
from everloop.memory.model.decide import ENGINE
from everloop.thread.model.calendar_windows import TIERS, CalendarWindow, window_containing
from everloop.thread.queries import threads


class WindowSummary(msgspec.Struct, frozen=True):
    """The summary of a window; without an item, there was nothing to summarise.

    With a `reason`, the last `failures` attempts failed, and `item_id` is an older summary, if any.
    `position` is where that summary was recorded, `tried` where the last attempt was.
    """

    window: str
    item_id: str
    upto: int
    position: int
    tried: int
    at: datetime
    reason: str = ""
    failures: int = 0


def window_summaries(
    reader: Reader, thread_id: str, keys: Sequence[str] | None = None
) -> dict[str, WindowSummary]:
    """The newest summary or failure of each window; with `keys`, of these windows only."""
    named = msgspec.json.encode(keys).decode()
    found: dict[str, WindowSummary] = {}
    rows = reader.rows(_ALL if keys is None else _NAMED, {"thread": thread_id, "keys": named})
    for window, item_id, upto, reason, at, position in rows:
        before = found.get(window)
        if not reason:
            found[window] = WindowSummary(
                window, item_id, upto, position, position, from_microseconds(at)
            )
            continue
        item, stands = (before.item_id, before.position) if before else ("", 0)
        failures = 1 + (before.failures if before else 0)
        found[window] = WindowSummary(
            window, item, upto, stands, position, from_microseconds(at), reason, failures
        )
    return found


def replaced_summaries(reader: Reader, thread_id: str) -> dict[str, int]:
    """Item ids and positions of summaries that a newer one of the same window replaced."""
    named = {"thread": thread_id, "keys": ""}
    rows = [
        row for row in reader.rows(_ALL, named) if not row[3]
    ]  # the last row of a window is the current summary
    holds = {window: (item_id, at) for window, item_id, _, _, _, at in rows}
    older = [
        item_id
        for window, item_id, _, _, _, at in rows
        if item_id and item_id != holds[window][0] and at < holds[window][1]
    ]
    return {name: position for name, (position, _) in item_texts(reader, older).items()}


def orphaned_summaries(
    reader: Reader, thread_id: str, window: CalendarWindow, host: str
) -> dict[str, int]:
    """Orphaned summaries of a window, with their positions: a crash kept them unrecorded."""
    first = datetime(window.first.year, window.first.month, window.first.day, tzinfo=UTC)
    named = {
        "thread": thread_id,
        "host": host,
        "window": window.key,
        "at": to_microseconds(first),
        "begins": summary_title(window, ""),
    }
    return dict(reader.rows(_ORPHANED, named))


def summary_title(window: CalendarWindow, title: str) -> str:
    """The title of a window's summary."""
    return f"{window.key.replace(':', ' ')}: {title}"


def deleted_summaries(reader: Reader, thread_id: str) -> dict[str, WindowSummary]:
    """The newest summary of each window that a person deleted directly, by window key."""
    named = {"thread": thread_id, "kind": Retracted.wire, "engine": ENGINE}
    return {
        window: WindowSummary(window, "", upto, position, position, from_microseconds(at))
        for window, upto, at, position in reader.rows(_DELETED_BY_PERSON, named)
    }


def newest_change_by_day(
    reader: Reader, thread_id: str, first: date, until: date
) -> dict[date, int]:
    """For each day with messages, the position of the newest fact that concerns its summary."""
    within = {"thread": thread_id, "first": first.isoformat(), "until": until.isoformat()}
    touched = {date.fromisoformat(day): position for day, position in reader.rows(_DAYS, within)}
    for day, position in reader.rows(_HIDDEN_DAYS, within):
        touched[date.fromisoformat(day)] = max(touched[date.fromisoformat(day)], position)
    for day, (_, position) in _day_importance(reader, thread_id).items():
        if day in touched:
            touched[day] = max(touched[day], position)
    return touched


def required_positions(touched: Mapping[date, int]) -> dict[CalendarWindow, int]:
    """The position that the summary of each non-empty window has to cover."""
    needed: dict[CalendarWindow, int] = {}
    for day, position in touched.items():
        for tier in TIERS:
            window = window_containing(day, tier)
            needed[window] = max(needed.get(window, 0), position)
    return needed


def is_current(window: CalendarWindow, known: Mapping[str, WindowSummary], needed: int) -> bool:
    """Whether the last attempt covers everything, including summaries of the tier below."""
    own = known.get(window.key)
    if own is None or own.upto < needed:
        return False
    return all(
        known[part.key].position <= own.tried for part in window.children if part.key in known
    )


def important_days(reader: Reader, thread_id: str) -> set[date]:
    """The days that were marked as important, and those with a decision."""
    return {day for day, (important, _) in _day_importance(reader, thread_id).items() if important}


def hide_positions(reader: Reader, thread_id: str, window: CalendarWindow) -> tuple[int, ...]:
    """Positions of the facts that hide or unhide messages of a window."""
    within = {
        "thread": thread_id,
        "first": window.first.isoformat(),
        "until": window.until.isoformat(),
    }
    return tuple(row[0] for row in reader.rows(_HIDES, within))


def window_summary_retractions(
    reader: Reader, thread_id: str, window: CalendarWindow
) -> tuple[int, ...]:
    """Positions of the retractions that removed a summary of a window; undoing them restores it."""
    named = {"thread": thread_id, "window": window.key, "kind": Retracted.wire, "engine": ENGINE}
    return tuple(row[0] for row in reader.rows(_RETRACTIONS, named))


def oldest_day(reader: Reader, thread_id: str) -> date | None:
    """The day of the oldest message."""
    rows = reader.rows(_OLDEST, (thread_id,))
    return date.fromisoformat(rows[0][0]) if rows else None


def item_texts(reader: Reader, items: Sequence[str]) -> dict[str, tuple[int, str]]:
    """The position and current text of each of these memory items."""
    named = msgspec.json.encode(list(items)).decode()
    return {name: (position, text) for position, name, text in reader.rows(_TEXTS, (named,))}


# -- inside ----------------------------------------------------------------------------------------


def _day_importance(reader: Reader, thread_id: str) -> dict[date, tuple[bool, int]]:
    """Whether a day is important, and the newest fact that says so. A person's mark wins."""
    zones = threads.time_zones(reader)
    found: dict[date, tuple[bool, int]] = {}
    for position, at, source_day in reader.rows(_DECISIONS, (thread_id,)):
        day = date.fromisoformat(source_day) if source_day else zones.local_date(at)
        found[day] = (True, position)
    for day, important, position in reader.rows(_MARKS, (thread_id,)):
        found[date.fromisoformat(day)] = (bool(important), position)
    return found


_SUMMARY = "SELECT w.window, w.item_id, w.upto, w.reason, w.at, w.position"
_ALL = f"""
{_SUMMARY} FROM thread_windows w
WHERE w.thread_id = :thread AND {visible("w")} ORDER BY w.upto, w.position
"""
_NAMED = f"""
{_SUMMARY} FROM json_each(:keys) j CROSS JOIN thread_windows w ON w.window = j.value
WHERE w.thread_id = :thread AND {visible("w")} ORDER BY w.upto, w.position
"""
_ORPHANED = f"""
SELECT i.item_id, i.position FROM memory_items i JOIN memory_versions v ON v.position = i.position
WHERE i.happened_at = :at AND i.kind = 'summary' AND {visible("i")}
AND json_extract(i.origin, '$.host') = :host AND json_extract(i.origin, '$.session') = :thread
AND substr(v.title, 1, length(:begins)) = :begins AND NOT EXISTS (
    SELECT 1 FROM thread_windows w WHERE w.thread_id = :thread AND w.item_id = i.item_id)
AND NOT EXISTS (  -- nor was it derived from a summary of this window
    SELECT 1 FROM memory_sources s JOIN thread_windows w ON w.item_id = s.source_id
    WHERE s.position = i.position AND w.thread_id = :thread AND w.window = :window)
ORDER BY i.position
"""  # noqa: S608 - our own condition
_DELETED_BY_PERSON = """
SELECT w.window, w.upto, w.at, w.position FROM temp.active a
CROSS JOIN log l ON l.position = a.position AND l.kind = :kind AND l.actor <> :engine
CROSS JOIN json_each(l.data, '$.positions') p
CROSS JOIN memory_items i ON i.position = p.value AND i.kind = 'summary'
CROSS JOIN thread_windows w ON w.thread_id = :thread AND w.item_id = i.item_id
JOIN temp.sight s ON s.branch = w.branch AND w.position <= s.cap
ORDER BY w.upto, w.position
"""
_DAYS = f"""
SELECT m.day, max(m.position) FROM thread_messages m
WHERE m.thread_id = :thread AND m.day >= :first AND m.day < :until AND {visible("m")}
GROUP BY m.day
"""  # noqa: S608 - our own condition
_HIDES = f"""
SELECT h.position, m.day FROM thread_hidden h
CROSS JOIN thread_messages m ON m.message_id = h.message_id
WHERE m.thread_id = :thread AND m.day >= :first AND m.day < :until
AND {visible("h")} AND {visible("m")}
"""  # noqa: S608 - our own conditions
_HIDDEN_DAYS = f"SELECT day, max(position) FROM ({_HIDES}) GROUP BY day"  # noqa: S608
# The engine retracts only summaries that it replaced: those are not restored.
_RETRACTIONS = """
SELECT DISTINCT h.hidden_by FROM thread_windows w
JOIN temp.sight s ON s.branch = w.branch AND w.position <= s.cap
JOIN log_hidden h ON h.position = w.position JOIN temp.active a ON a.position = h.hidden_by
JOIN log l ON l.position = h.hidden_by AND l.kind = :kind AND l.actor <> :engine
WHERE w.thread_id = :thread AND w.window = :window AND w.item_id <> '' ORDER BY h.hidden_by
"""
_OLDEST = f"""
SELECT m.day FROM thread_messages m WHERE m.thread_id = ? AND {visible("m")} ORDER BY m.day LIMIT 1
"""  # noqa: S608 - our own condition
_MARKS = f"""
SELECT d.day, d.important, d.position FROM thread_days d WHERE d.thread_id = ? AND {visible("d")}
ORDER BY d.position
"""  # noqa: S608 - our own condition
# A decision belongs to the day of the message it derives from, directly or through its turn.
_DECISIONS = f"""
SELECT n.position, n.at, max(coalesce(m.day, q.day))
FROM thread_notes n JOIN log l ON l.position = n.position
LEFT JOIN json_each(l.because) b
LEFT JOIN thread_messages m ON m.position = b.value
LEFT JOIN thread_turns t ON t.position = b.value
LEFT JOIN thread_messages q ON q.message_id = t.message_id AND t.message_id <> ''
WHERE n.thread_id = ? AND n.sort = 'decision' AND {visible("n")} GROUP BY n.position
"""  # noqa: S608 - our own condition
_TEXTS = f"""
SELECT i.position, i.item_id, v.text FROM json_each(?) j
JOIN memory_items i ON i.item_id = j.value JOIN memory_versions v ON v.item = i.position
WHERE {visible("i")} AND {visible("v")} AND v.position = (
    SELECT max(n.position) FROM memory_versions n WHERE n.item = i.position AND {visible("n")})
"""  # noqa: S608 - our own condition
