"""Stale summaries: finds the windows that need a new summary, so that no job queue is needed.

A summary is current while it depends on the newest version of each of its sources. When a source
is retracted or revised, the log hides its summaries at every level, and the items demoted for them
count again. Their window is stale until it has a summary again or the summariser refused. Lower
windows come first: one that contains a summary waits for that summary's successor
(`successors.py`).
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from everloop.errors import Conflict
from everloop.log import Reader, visible
from everloop.log.model.facts import BranchStood, Retracted
from everloop.memory.model.commands import KeepSummary
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.events import CompressionRefused, Revised
from everloop.memory.model.scopes import OWNER, Viewer
from everloop.memory.projections.queries import (
    ITEM_COLUMNS,
    Filter,
    Item,
    VisibilityQuery,
    item_from_row,
    load_details,
    load_viewer,
)
from everloop.memory.summaries.successors import (
    AUDIENCE_COLUMNS,
    IN_SIGHT_SQL,
    OUT_OF_DATE_SQL,
    SOURCES_SQL,
    Successors,
    is_compression_refused,
    json_list,
    newest_version,
    summaries_of_exactly,
)
from everloop.memory.summaries.zoom import RETIRED_SQL


class StaleWindow(msgspec.Struct, frozen=True):
    """Items whose summary was retracted or is out of date. `summary_id` is the last one they had.

    `earlier` has the positions of the summaries before it, as far as they were looked up.
    """

    item_ids: tuple[str, ...]
    summary_id: str
    position: int
    why: Literal["retracted", "revised"]
    earlier: tuple[int, ...] = ()


class StaleWindows(msgspec.Struct, frozen=True):
    """The stale windows; `waits` if higher ones wait for the summary of a lower one."""

    windows: list[StaleWindow]
    waits: bool


def current_summary(reader: Reader, who: Viewer, item_ids: Iterable[str]) -> Item | None:
    """The newest current summary of exactly these items, if they have one."""
    wanted = sorted(set(item_ids))
    sieve = VisibilityQuery(who, Filter(retired=True))
    rows = sieve.rows(
        reader,
        ITEM_COLUMNS,
        _SUMMARY,
        "ORDER BY i.position DESC",
        first=wanted[0] if wanted else "",
    )
    for item in load_details(reader, who, [item_from_row(row) for row in rows]):
        listed = [row[0] for row in reader.rows(SOURCES_SQL, (item.position,))]
        if listed == wanted and _is_current(reader, item.position):
            return item
    return None


def stale_windows(
    reader: Reader, who: Viewer, *, since: int = 0, but_by: str = ""
) -> list[StaleWindow]:
    """The windows whose summaries were retracted or outdated by facts after `since`.

    A summary that the user retracted is not replaced. Summaries by the host `but_by` are left to
    that host.
    """
    return find_stale_windows(reader, who, since=since, but_by=but_by).windows


def find_stale_windows(
    reader: Reader, who: Viewer, *, since: int = 0, but_by: str = ""
) -> StaleWindows:
    """As `stale_windows`, and whether any wait. At `since`, nothing was stale or waiting."""
    since = 0 if since and _must_look_again(reader, since) else since
    successors = Successors(reader, who)
    gone: dict[int, str] = dict(reader.rows(_GONE, (since, but_by)))
    revised: dict[int, str] = dict(reader.rows(_REVISED, (since, but_by)))
    found: dict[frozenset[str], StaleWindow] = {}
    waits = False
    for position, summary_id in sorted({**gone, **revised}.items()):
        windows = successors.windows(position)
        waits |= windows is None
        for window in windows or ():
            if _needs_summary(reader, successors, window, position) and (
                position in revised or not successors.is_unwanted(position)
            ):
                why = _why(reader, position, standing=position in revised)
                before = found.get(frozenset(window))
                earlier = (*before.earlier, before.position) if before else ()
                stale = StaleWindow(window, summary_id, position, why, earlier)
                found[frozenset(window)] = stale
    return StaleWindows(list(found.values()), waits)


def summary_retractions(reader: Reader, position: int) -> tuple[int, ...]:
    """The retractions that hide a summary, or because of which it was written."""
    return tuple(row[0] for row in reader.rows(_TAKEN_BACK_BY, (position, Retracted.wire)))


def check_summary_is_current(reader: Reader, command: KeepSummary) -> None:
    """Accept a summary whose sources are unchanged and have no other summary for its audience.

    Writing a summary takes long; this check runs in the transaction that records it.

    Raises:
        Conflict: a source was changed or retired in the meantime, or another summary was written.
    """
    bindings = {"ids": json_list(command.derived_from), "because": json_list(command.because)}
    for (changed,) in reader.rows(_CHANGED, bindings):
        raise Conflict(
            f"{changed!r} changed while its summary was written", hint="Summarise it again."
        )
    audience = [command.scope, json_list(sorted(command.witnesses))]
    owner = load_viewer(reader, OWNER)
    for item_id, *known in summaries_of_exactly(
        reader, owner, command.derived_from, AUDIENCE_COLUMNS
    ):
        if known == audience:
            raise Conflict(f"these items already have a summary: {item_id!r}", hint="Use that one.")


# -- details ---------------------------------------------------------------------------------------


def _must_look_again(reader: Reader, since: int) -> bool:
    """Whether facts after `since` may have made older windows stale again.

    The branch was switched, something was retracted (perhaps what hid a summary), or items that
    the summariser refused were changed.
    """
    bindings = {
        "since": since,
        "stood": BranchStood.wire,
        "retracted": Retracted.wire,
        "engine": ENGINE,
        "refused": CompressionRefused.wire,
    }
    return bool(reader.rows(_LOOK_AGAIN, bindings))


def _needs_summary(
    reader: Reader, successors: Successors, window: tuple[str, ...], position: int
) -> bool:
    """Whether no summary covers these items, and none was refused or declined."""
    if successors.is_summarised(window) or is_compression_refused(reader, window):
        return False
    return not successors.is_declined(window, position)


def _why(reader: Reader, position: int, *, standing: bool) -> Literal["retracted", "revised"]:
    overtaken = standing or reader.rows(_OVERTAKEN, (position, Revised.wire))
    return "revised" if overtaken else "retracted"


def _is_current(reader: Reader, position: int) -> bool:
    return not reader.rows(OUT_OF_DATE_SQL.format(summary="?"), (position,))


_SUMMARY = f"""
i.kind = 'summary' AND NOT {RETIRED_SQL}
AND i.position IN (SELECT position FROM memory_sources WHERE source_id = :first)
"""  # noqa: S608 - our own conditions
_CHANGED = f"""
SELECT j.value FROM json_each(:ids) j WHERE NOT EXISTS (
    SELECT 1 FROM memory_items i WHERE i.item_id = j.value AND {visible("i")} AND NOT {RETIRED_SQL}
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
_LOOK_AGAIN = """
SELECT 1 FROM log l WHERE l.position > :since
AND (l.kind = :stood OR (l.kind = :retracted AND l.actor <> :engine))
UNION ALL
SELECT 1 FROM temp.active a JOIN log_hidden h ON h.hidden_by = a.position
JOIN log r ON r.position = h.position WHERE a.position > :since AND r.kind = :refused
LIMIT 1
"""
_OTHERS = "ifnull(json_extract(i.origin, '$.host'), '') IS NOT nullif(?2, '')"
# Summaries hidden before `since` were replaced already. One that was written because of a
# retraction that no longer counts is replaced by the original.
_GONE = f"""
SELECT DISTINCT i.position, i.item_id
FROM temp.active a JOIN log_hidden h ON h.hidden_by = a.position
JOIN memory_items i ON i.position = h.position
WHERE a.position > ?1 AND i.kind = 'summary' AND {IN_SIGHT_SQL} AND {_OTHERS} AND NOT EXISTS (
    SELECT 1 FROM log_hidden b JOIN temp.active e ON e.position = b.hidden_by
    WHERE b.position = i.position AND b.hidden_by <= ?1)
AND NOT EXISTS (
    SELECT 1 FROM log own JOIN json_each(own.because) j JOIN log r ON r.position = j.value
    WHERE own.position = i.position AND r.kind = '{Retracted.wire}'
    AND r.position NOT IN (SELECT position FROM temp.active))
"""  # noqa: S608 - our own conditions
# A summary recorded after a revision can still cover the previous version: then it depends on that
# one. A summary that depends on no version covers the one that was current when it was recorded.
_REVISED = f"""
SELECT DISTINCT i.position, i.item_id FROM memory_versions v
JOIN memory_items source ON source.position = v.item
JOIN memory_sources s ON s.source_id = source.item_id
JOIN memory_items i ON i.position = s.position
WHERE max(v.position, i.position) > ?1 AND v.position <> v.item AND i.kind = 'summary'
AND {_OTHERS} AND {visible("v")} AND {visible("source")} AND {visible("i")} AND NOT {RETIRED_SQL}
AND NOT EXISTS (SELECT 1 FROM log_because b
    WHERE b.dependant = i.position AND b.source = {newest_version("source.position")})
AND (i.position < v.position OR EXISTS (
    SELECT 1 FROM memory_versions old JOIN log_because b ON b.source = old.position
    WHERE old.item = source.position AND b.dependant = i.position))
"""  # noqa: S608 - our own conditions
