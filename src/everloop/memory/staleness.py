"""Which windows lack a summary now: what the background asks, so that it needs no queue.

A summary is current while it stands on the newest version of each of its sources. When a source is
retracted or revised its summaries are gone, all the way up (the log sees to that), and what had
stepped back for them counts again. The window is found here, until it has a summary again or
somebody refused to write one. Lower windows come first: one that contains a summary waits for that
summary's successor.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from everloop.errors import Conflict
from everloop.log import Reader, visible
from everloop.log.facts import Retracted
from everloop.log.record import fact_of
from everloop.memory.commands import KeepSummary
from everloop.memory.decide import ENGINE
from everloop.memory.events import Revised
from everloop.memory.scopes import OWNER, Asker
from everloop.memory.shelf import COLUMNS, Filter, Item, Sieve, asker, complete, item_of
from everloop.memory.zoom import DEPTH_MAX, RETIRED


class StaleWindow(msgspec.Struct, frozen=True):
    """Items whose summary is gone or out of date. `summary_id` is the last one they had."""

    item_ids: tuple[str, ...]
    summary_id: str
    position: int
    why: Literal["retracted", "revised"]


def summary_of(reader: Reader, who: Asker, item_ids: Iterable[str]) -> Item | None:
    """The newest current summary of exactly these items, if they have one."""
    wanted = sorted(set(item_ids))
    sieve = Sieve(who, Filter(retired=True))
    rows = sieve.rows(
        reader, COLUMNS, _SUMMARY, "ORDER BY i.position DESC", first=wanted[0] if wanted else ""
    )
    for item in complete(reader, who, [item_of(row) for row in rows]):
        listed = [row[0] for row in reader.rows(_SOURCES, (item.position,))]
        if listed == wanted and _is_current(reader, item.position):
            return item
    return None


def lacking(reader: Reader, who: Asker, windows: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Those of the windows that have no current summary, and none that somebody refused to make."""
    return [
        tuple(window)
        for window in windows
        if window and not refused(reader, window) and summary_of(reader, who, window) is None
    ]


def stale_windows(
    reader: Reader, who: Asker, *, since: int = 0, but_by: str = ""
) -> list[StaleWindow]:
    """The windows whose summaries were lost or overtaken by what was recorded after `since`.

    A summary that the user retracted is not missed: it was not wanted. Those of the host `but_by`
    are its own to make again.
    """
    found: dict[frozenset[str], StaleWindow] = {}
    for position, summary_id, why in _overtaken(reader, since, but_by):
        present = _present(reader, who, position, DEPTH_MAX) or ()
        for window in _by_audience(reader, who, list(present)):
            if not (_served(reader, who, window) or _declined(reader, window, position)):
                found[frozenset(window)] = StaleWindow(window, summary_id, position, why)
    return list(found.values())


def refused(reader: Reader, item_ids: Iterable[str]) -> bool:
    """Whether nobody could say these items, as they are now, in fewer words."""
    stream = window_stream(reader, item_ids)
    return bool(reader.rows(f"SELECT 1 FROM log WHERE stream = ? AND {visible('log')}", (stream,)))  # noqa: S608


def window_stream(reader: Reader, item_ids: Iterable[str]) -> str:
    """The stream of what happened to a window of items, as they are now."""
    rows = reader.rows(_VERSIONS, (_json(sorted(set(item_ids))),))
    return f"compression:{hashlib.sha256(msgspec.json.encode(rows)).hexdigest()[:32]}"


def taken_back_by(reader: Reader, position: int) -> tuple[int, ...]:
    """The retractions for which a summary no longer counts, or for which it was made itself."""
    return tuple(row[0] for row in reader.rows(_TAKEN_BACK_BY, (position, Retracted.wire)))


def check_window(reader: Reader, command: KeepSummary) -> None:
    """Pass a summary whose sources are as it was made of them, and have no other of its audience.

    It takes long to write one; this is asked in the transaction that records it.

    Raises:
        Conflict: one of them was changed or retired meanwhile, or somebody else wrote one.
    """
    asked = {"ids": _json(command.derived_from), "because": _json(command.because)}
    for (changed,) in reader.rows(_CHANGED, asked):
        raise Conflict(
            f"{changed!r} changed while it was put into fewer words", hint="Compress it again."
        )
    for item_id, *audience in _own(reader, asker(reader, OWNER), command.derived_from, _AUDIENCE):
        if audience == [command.scope, _json(sorted(command.witnesses))]:
            raise Conflict(f"these items have a summary: {item_id!r}", hint="Use that one.")


# -- inside ----------------------------------------------------------------------------------------


def _overtaken(
    reader: Reader, since: int, but_by: str
) -> Iterable[tuple[int, str, Literal["retracted", "revised"]]]:
    """Summaries that no longer count, or no longer say what their sources say; oldest first."""
    gone: dict[int, str] = dict(reader.rows(_GONE, (since, but_by)))
    revised: dict[int, str] = dict(reader.rows(_REVISED, (since, but_by)))
    for position in sorted({*gone, *revised}):
        if position in revised:
            yield position, revised[position], "revised"
        elif not _unwanted(reader, position):
            overtaken = reader.rows(_OVERTAKEN, (position, Revised.wire))
            yield position, gone[position], "revised" if overtaken else "retracted"


def _declined(reader: Reader, window: Sequence[str], position: int) -> bool:
    """Whether a later summary of the same items was not wanted."""
    made = reader.rows(_MADE_OF, (window[0], position))
    same = (at for (at,) in made if {row[0] for row in reader.rows(_SOURCES, (at,))} == set(window))
    return any(_unwanted(reader, at) for at in same)


def _unwanted(reader: Reader, position: int) -> bool:
    """Whether somebody took back or retired this very summary, and not something below it."""
    if reader.rows(_RETIRED_BEFORE, (position,)):
        return True
    for (retraction,) in reader.rows(_HIDDEN_BY, (position,)):
        fact = fact_of(reader.record(retraction))
        named = isinstance(fact.event, Retracted) and position in fact.event.positions
        if named and fact.actor != ENGINE:
            return True
    return False


def _by_audience(reader: Reader, who: Asker, item_ids: Sequence[str]) -> list[tuple[str, ...]]:
    """The items apart by who may see them: one summary has one audience."""
    sieve = Sieve(who, Filter(retired=True))
    where = "i.item_id IN (SELECT value FROM json_each(:ids))"
    rest = "ORDER BY i.item_id"
    apart: dict[tuple[str, str], list[str]] = {}
    for item_id, *audience in sieve.rows(reader, _AUDIENCE, where, rest, ids=_json(item_ids)):
        apart.setdefault((audience[0], audience[1]), []).append(item_id)
    return [tuple(window) for window in apart.values()]


def _served(reader: Reader, who: Asker, window: Sequence[str]) -> bool:
    """Whether a current summary holds all of these items, or nobody could make one."""
    return _is_held(reader, who, window) or refused(reader, window)


def _present(reader: Reader, who: Asker, position: int, levels: int) -> set[str] | None:
    """What the sources of a summary have become; None while one of them waits for a successor."""
    window: set[str] = set()
    sources = {row[0] for row in reader.rows(_SOURCES, (position,))}
    for source in sorted(sources):
        became = _became(reader, who, source, levels, beside=sources - {source})
        if became is None:
            return None
        window |= became
    return window


def _became(
    reader: Reader, who: Asker, item_id: str, levels: int, *, beside: set[str]
) -> set[str] | None:
    """What stands for a source now; None while that is waited for. `beside` are the others."""
    if Sieve(who, Filter(retired=True)).rows(reader, "1", _HERE, id=item_id):
        return {item_id}
    gone = reader.rows(_GONE_SUMMARY, (item_id,))
    if not gone or not levels or _unwanted(reader, gone[0][0]):
        return set()
    window = _present(reader, who, gone[0][0], levels - 1)
    if window is None:
        return None
    became: set[str] = set()
    for part in _by_audience(reader, who, sorted(window)):
        holder = _succeeded(reader, who, part, beside)
        if holder is None and not _declined(reader, part, gone[0][0]):
            return None
        became |= holder or set()
    return became


def _succeeded(
    reader: Reader, who: Asker, window: Sequence[str], beside: set[str]
) -> set[str] | None:
    """What says now what a lower window says: its own summary, one of more, or else its items.

    A summary of more may be made from the very window that is asked for: with that one in it, each
    new summary would ask for another. Then, the items stand for themselves.
    """
    if own := _own(reader, who, window, "i.item_id"):
        return {own[0][0]}
    sieve = Sieve(who, Filter(retired=True))
    oldest = "ORDER BY i.position"
    wider = sieve.rows(reader, "i.item_id, i.position", _HOLDER, oldest, ids=_json(window))
    for item_id, position in wider:
        if beside.isdisjoint(row[0] for row in reader.rows(_SOURCES, (position,))):
            return {item_id}
    return set(window) if wider else None


def _is_held(reader: Reader, who: Asker, window: Sequence[str]) -> bool:
    """Whether a summary says what all these items say now."""
    sieve = Sieve(who, Filter(retired=True))
    return bool(sieve.rows(reader, "1", _HOLDER, "LIMIT 1", ids=_json(window)))


def _own(reader: Reader, who: Asker, window: Sequence[str], what: str) -> list[tuple[Any, ...]]:
    """Of each summary that says what just these items say now, what is asked; newest first."""
    sieve = Sieve(who, Filter(retired=True))
    newest = "ORDER BY i.position DESC"
    return sieve.rows(reader, what, f"{_HOLDER} AND {_OF_NO_MORE}", newest, ids=_json(window))


def _is_current(reader: Reader, position: int) -> bool:
    return not reader.rows(_OUT_OF_DATE.format(summary="?"), (position,))


def _newest(item: str) -> str:
    """The newest version of an item that counts, as SQL."""
    return (
        f"(SELECT max(n.position) FROM memory_versions n WHERE n.item = {item}"  # noqa: S608
        f" AND {visible('n')})"
    )


_AUDIENCE = """
i.item_id, v.scope, (SELECT json_group_array(principal) FROM (
    SELECT principal FROM memory_witnesses w WHERE w.position = v.position ORDER BY principal))
"""
_HERE = f"i.item_id = :id AND NOT {RETIRED}"
_SOURCES = "SELECT source_id FROM memory_sources WHERE position = ? ORDER BY source_id"
_MADE_OF = "SELECT position FROM memory_sources WHERE source_id = ? AND position > ?"
_SUMMARY = f"""
i.kind = 'summary' AND NOT {RETIRED}
AND i.position IN (SELECT position FROM memory_sources WHERE source_id = :first)
"""  # noqa: S608 - our own conditions
_OUT_OF_DATE = f"""
SELECT 1 FROM memory_sources o JOIN memory_items source ON source.item_id = o.source_id
WHERE o.position = {{summary}} AND {visible("source")} AND NOT EXISTS (
    SELECT 1 FROM log_because b
    WHERE b.dependant = o.position AND b.source = {_newest("source.position")})
"""  # noqa: S608 - our own conditions
_HOLDER = f"""
i.kind = 'summary' AND NOT {RETIRED} AND i.position IN (
    SELECT s.position FROM json_each(:ids) j JOIN memory_sources s ON s.source_id = j.value
    GROUP BY s.position HAVING count(*) = json_array_length(:ids))
AND NOT EXISTS ({_OUT_OF_DATE.format(summary="i.position")})
"""  # noqa: S608 - our own conditions
_OF_NO_MORE = """
(SELECT count(*) FROM memory_sources s WHERE s.position = i.position) = json_array_length(:ids)
"""
_CHANGED = f"""
SELECT j.value FROM json_each(:ids) j WHERE NOT EXISTS (
    SELECT 1 FROM memory_items i WHERE i.item_id = j.value AND {visible("i")} AND NOT {RETIRED}
    AND {_newest("i.position")} IN (SELECT value FROM json_each(:because)))
"""  # noqa: S608 - our own conditions
_VERSIONS = f"""
SELECT i.item_id, {_newest("i.position")} FROM json_each(?) j
JOIN memory_items i ON i.item_id = j.value WHERE {visible("i")} ORDER BY i.item_id
"""  # noqa: S608 - our own conditions

_OVERTAKEN = """
SELECT 1 FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
JOIN log l ON l.position = h.hidden_by WHERE h.position = ? AND l.kind = ?
"""
_TAKEN_BACK_BY = """
SELECT l.position FROM temp.active a JOIN log l ON l.position = a.position
WHERE l.kind = ?2 AND l.position IN (
    SELECT hidden_by FROM log_hidden WHERE position = ?1
    UNION SELECT j.value FROM log s JOIN json_each(s.because) j WHERE s.position = ?1)
ORDER BY l.position
"""
# A retirement goes with its item; it counts here unless it was taken back by itself.
_RETIRED_BEFORE = """
SELECT 1 FROM memory_marks m JOIN log l ON l.position = m.position
WHERE m.item = ?1 AND l.kind = 'memory.retired' AND NOT EXISTS (
    SELECT 1 FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
    WHERE h.position = m.position AND h.hidden_by NOT IN (
        SELECT hidden_by FROM log_hidden WHERE position = ?1))
"""
_IN_SIGHT = "EXISTS (SELECT 1 FROM temp.sight s WHERE s.branch = i.branch AND i.position <= s.cap)"
_OTHERS = "ifnull(json_extract(i.origin, '$.host'), '') IS NOT nullif(?2, '')"
_GONE = f"""
SELECT i.position, i.item_id
FROM temp.active a JOIN log_hidden h ON h.hidden_by = a.position
JOIN memory_items i ON i.position = h.position
WHERE a.position > ?1 AND i.kind = 'summary' AND {_IN_SIGHT} AND {_OTHERS}
"""  # noqa: S608 - our own conditions
_GONE_SUMMARY = f"""
SELECT i.position FROM memory_items i
WHERE i.item_id = ? AND i.kind = 'summary' AND {_IN_SIGHT} AND EXISTS (
    SELECT 1 FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
    WHERE h.position = i.position)
ORDER BY i.position DESC LIMIT 1
"""  # noqa: S608 - our own conditions
_HIDDEN_BY = """
SELECT h.hidden_by FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
WHERE h.position = ?
"""
# A summary that was recorded after a revision can still tell what was said before: then it stands
# on an older version. One that stands on none tells what was said when it was recorded.
_REVISED = f"""
SELECT DISTINCT i.position, i.item_id FROM memory_versions v
JOIN memory_items source ON source.position = v.item
JOIN memory_sources s ON s.source_id = source.item_id
JOIN memory_items i ON i.position = s.position
WHERE max(v.position, i.position) > ?1 AND v.position <> v.item AND i.kind = 'summary'
AND {_OTHERS} AND {visible("v")} AND {visible("source")} AND {visible("i")} AND NOT {RETIRED}
AND NOT EXISTS (SELECT 1 FROM log_because b
    WHERE b.dependant = i.position AND b.source = {_newest("source.position")})
AND (i.position < v.position OR EXISTS (
    SELECT 1 FROM memory_versions old JOIN log_because b ON b.source = old.position
    WHERE old.item = source.position AND b.dependant = i.position))
"""  # noqa: S608 - our own conditions


def _json(names: Sequence[str] | Sequence[int]) -> str:
    return msgspec.json.encode(list(names)).decode()
