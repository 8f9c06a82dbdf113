"""Which windows lack a summary now: what the background asks, so that it needs no queue.

A summary is current while it stands on the newest version of each of its sources. When a source is
retracted or revised its summaries are gone, all the way up (the log sees to that), and what had
stepped back for them counts again. The window is found here, until it has a summary again or
somebody refused to write one. Lower windows come first: one that contains a summary waits for that
summary's successor (`successors.py`).
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from everloop.errors import Conflict
from everloop.log import Reader, visible
from everloop.log.model.facts import BranchStood, Retracted
from everloop.memory.model.commands import KeepSummary
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.events import CompressionRefused, Revised
from everloop.memory.model.scopes import OWNER, Asker
from everloop.memory.projections.queries import (
    COLUMNS,
    Filter,
    Item,
    Sieve,
    asker,
    complete,
    item_of,
)
from everloop.memory.summaries.successors import (
    AUDIENCE,
    IN_SIGHT,
    OUT_OF_DATE,
    SOURCES,
    Successors,
    as_json,
    newest_version,
    own_summaries,
    refused,
)
from everloop.memory.summaries.zoom import RETIRED


class StaleWindow(msgspec.Struct, frozen=True):
    """Items whose summary is gone or out of date. `summary_id` is the last one they had.

    `earlier` is where those before it were recorded, as far as one had to look back.
    """

    item_ids: tuple[str, ...]
    summary_id: str
    position: int
    why: Literal["retracted", "revised"]
    earlier: tuple[int, ...] = ()


class Overtaken(msgspec.Struct, frozen=True):
    """The windows that lack a summary; `waits` if there are others above that wait for one."""

    windows: list[StaleWindow]
    waits: bool


def summary_of(reader: Reader, who: Asker, item_ids: Iterable[str]) -> Item | None:
    """The newest current summary of exactly these items, if they have one."""
    wanted = sorted(set(item_ids))
    sieve = Sieve(who, Filter(retired=True))
    rows = sieve.rows(
        reader, COLUMNS, _SUMMARY, "ORDER BY i.position DESC", first=wanted[0] if wanted else ""
    )
    for item in complete(reader, who, [item_of(row) for row in rows]):
        listed = [row[0] for row in reader.rows(SOURCES, (item.position,))]
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
    return overtaken(reader, who, since=since, but_by=but_by).windows


def overtaken(reader: Reader, who: Asker, *, since: int = 0, but_by: str = "") -> Overtaken:
    """The same, and whether any wait. Before `since`, nothing was stale and nothing waited."""
    since = 0 if since and _may_be_missed_again(reader, since) else since
    successors = Successors(reader, who)
    gone: dict[int, str] = dict(reader.rows(_GONE, (since, but_by)))
    revised: dict[int, str] = dict(reader.rows(_REVISED, (since, but_by)))
    found: dict[frozenset[str], StaleWindow] = {}
    waits = False
    for position, summary_id in sorted({**gone, **revised}.items()):
        windows = successors.windows(position)
        waits |= windows is None
        for window in windows or ():
            if _is_missed(reader, successors, window, position) and (
                position in revised or not successors.is_unwanted(position)
            ):
                why = _why(reader, position, standing=position in revised)
                before = found.get(frozenset(window))
                earlier = (*before.earlier, before.position) if before else ()
                stale = StaleWindow(window, summary_id, position, why, earlier)
                found[frozenset(window)] = stale
    return Overtaken(list(found.values()), waits)


def taken_back_by(reader: Reader, position: int) -> tuple[int, ...]:
    """The retractions for which a summary no longer counts, or for which it was made itself."""
    return tuple(row[0] for row in reader.rows(_TAKEN_BACK_BY, (position, Retracted.wire)))


def check_window(reader: Reader, command: KeepSummary) -> None:
    """Pass a summary whose sources are as it was made of them, and have no other of its audience.

    It takes long to write one; this is asked in the transaction that records it.

    Raises:
        Conflict: one of them was changed or retired meanwhile, or somebody else wrote one.
    """
    asked = {"ids": as_json(command.derived_from), "because": as_json(command.because)}
    for (changed,) in reader.rows(_CHANGED, asked):
        raise Conflict(
            f"{changed!r} changed while it was put into fewer words", hint="Compress it again."
        )
    audience = [command.scope, as_json(sorted(command.witnesses))]
    owner = asker(reader, OWNER)
    for item_id, *known in own_summaries(reader, owner, command.derived_from, AUDIENCE):
        if known == audience:
            raise Conflict(f"these items have a summary: {item_id!r}", hint="Use that one.")


# -- inside ----------------------------------------------------------------------------------------


def _may_be_missed_again(reader: Reader, since: int) -> bool:
    """Whether something happened by which older losses may matter again.

    Somebody stood elsewhere, took something back (perhaps what hid a summary), or changed what
    nobody could put into fewer words.
    """
    named = {
        "since": since,
        "stood": BranchStood.wire,
        "retracted": Retracted.wire,
        "engine": ENGINE,
        "refused": CompressionRefused.wire,
    }
    return bool(reader.rows(_MISSED_AGAIN, named))


def _is_missed(
    reader: Reader, successors: Successors, window: tuple[str, ...], position: int
) -> bool:
    """Whether no summary holds all of these items, and somebody could and would have one."""
    if successors.is_held(window) or refused(reader, window):
        return False
    return not successors.is_declined(window, position)


def _why(reader: Reader, position: int, *, standing: bool) -> Literal["retracted", "revised"]:
    overtaken = standing or reader.rows(_OVERTAKEN, (position, Revised.wire))
    return "revised" if overtaken else "retracted"


def _is_current(reader: Reader, position: int) -> bool:
    return not reader.rows(OUT_OF_DATE.format(summary="?"), (position,))


_SUMMARY = f"""
i.kind = 'summary' AND NOT {RETIRED}
AND i.position IN (SELECT position FROM memory_sources WHERE source_id = :first)
"""  # noqa: S608 - our own conditions
_CHANGED = f"""
SELECT j.value FROM json_each(:ids) j WHERE NOT EXISTS (
    SELECT 1 FROM memory_items i WHERE i.item_id = j.value AND {visible("i")} AND NOT {RETIRED}
    AND {newest_version("i.position")} IN (SELECT value FROM json_each(:because)))
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
_MISSED_AGAIN = """
SELECT 1 FROM log l WHERE l.position > :since
AND (l.kind = :stood OR (l.kind = :retracted AND l.actor <> :engine))
UNION ALL
SELECT 1 FROM temp.active a JOIN log_hidden h ON h.hidden_by = a.position
JOIN log r ON r.position = h.position WHERE a.position > :since AND r.kind = :refused
LIMIT 1
"""
_OTHERS = "ifnull(json_extract(i.origin, '$.host'), '') IS NOT nullif(?2, '')"
# What was lost before, something else stands for; what was made instead of another, that one does.
_GONE = f"""
SELECT DISTINCT i.position, i.item_id
FROM temp.active a JOIN log_hidden h ON h.hidden_by = a.position
JOIN memory_items i ON i.position = h.position
WHERE a.position > ?1 AND i.kind = 'summary' AND {IN_SIGHT} AND {_OTHERS} AND NOT EXISTS (
    SELECT 1 FROM log_hidden b JOIN temp.active e ON e.position = b.hidden_by
    WHERE b.position = i.position AND b.hidden_by <= ?1)
AND NOT EXISTS (
    SELECT 1 FROM log own JOIN json_each(own.because) j JOIN log r ON r.position = j.value
    WHERE own.position = i.position AND r.kind = '{Retracted.wire}'
    AND r.position NOT IN (SELECT position FROM temp.active))
"""  # noqa: S608 - our own conditions
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
    WHERE b.dependant = i.position AND b.source = {newest_version("source.position")})
AND (i.position < v.position OR EXISTS (
    SELECT 1 FROM memory_versions old JOIN log_because b ON b.source = old.position
    WHERE old.item = source.position AND b.dependant = i.position))
"""  # noqa: S608 - our own conditions
