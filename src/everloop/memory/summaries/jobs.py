"""Consolidations as durable jobs: recorded when requested, and again when settled.

In between a process can crash, with the summary written and its sources not yet demoted. Open jobs
are found by a query of the log, and finished. Every job is settled once, also if a source was not
demoted or no summary was written: nothing is retried for ever.
"""

from collections.abc import Sequence

import msgspec

from everloop.log import Draft, Log, Reader, visible
from everloop.log.model.record import fact_of
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.events import ConsolidationAsked, ConsolidationSettled, Demoted
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import find_item, load_viewer
from everloop.memory.summaries.staleness import current_summary
from everloop.memory.summaries.successors import json_list, window_stream

CONSOLIDATION_PREFIX = "consolidation"
UNRECORDED = 0  # position of a job without anything to do, which is not recorded


class ConsolidationJob(msgspec.Struct, frozen=True):
    """An open consolidation: the request, and where it was recorded."""

    position: int
    stream: str
    actor: str
    wanted: ConsolidationAsked

    def demotion_actors(self) -> dict[str, str]:
        """The actor who demotes each item, without the items that are not to be demoted."""
        names = zip(self.wanted.item_ids, self.wanted.in_the_name_of, strict=True)
        return {item_id: actor for item_id, actor in names if actor}


def request_consolidation(
    log: Log, wanted: ConsolidationAsked, *, actor: str, because: Sequence[int]
) -> ConsolidationJob:
    """Record a request, unless an equal one is open already or nothing is left to do."""
    with log.reading() as reader:
        window = window_stream(reader, wanted.item_ids).partition(":")[2]
        stream = f"{CONSOLIDATION_PREFIX}:{window}"
        for waiting in open_consolidations(reader, stream):
            if (waiting.wanted, waiting.actor) == (wanted, actor):
                return waiting
        if _is_done(reader, wanted):
            return ConsolidationJob(UNRECORDED, stream, actor, wanted)
    receipt = log.append(stream, [Draft(wanted, tuple(because))], actor=actor)
    return ConsolidationJob(receipt.position, stream, actor, wanted)


def settle_consolidation(
    log: Log, asked: ConsolidationJob, summary_id: str = "", *, verified: bool = False
) -> None:
    """Record that a consolidation is finished."""
    if asked.position == UNRECORDED:
        return
    settled = ConsolidationSettled(summary_id, verified)
    log.append(asked.stream, [Draft(settled, (asked.position,))], actor=ENGINE)


def open_consolidations(reader: Reader, stream: str = "") -> list[ConsolidationJob]:
    """The open consolidations, oldest first; of one stream, or of all."""
    bindings = {
        "first": stream or f"{CONSOLIDATION_PREFIX}:",
        "last": stream or f"{CONSOLIDATION_PREFIX}:~",
        "asked": ConsolidationAsked.wire,
        "settled": ConsolidationSettled.wire,
    }
    found: list[ConsolidationJob] = []
    for position, name, actor in reader.rows(_UNSETTLED, bindings):
        wanted = fact_of(reader.record(position)).event
        if isinstance(wanted, ConsolidationAsked):  # otherwise it was purged
            found.append(ConsolidationJob(position, name, actor, wanted))
    return found


def last_demoted_by(
    reader: Reader, item_ids: Sequence[str], summaries: Sequence[int]
) -> dict[str, str]:
    """The actor who last demoted each item in favour of one of the summaries at these positions.

    Empty if that demotion was retracted on its own.
    """
    return dict(reader.rows(_STEPPED_BACK, (json_list(item_ids), json_list(summaries))))


def items_restored_since(reader: Reader, asked: ConsolidationJob) -> set[str]:
    """The items that were demoted by this job already, and restored since."""
    names = asked.wanted.item_ids
    summaries = [row[0] for row in reader.rows(_SINCE, (json_list(names), asked.position))]
    return {name for name, by in last_demoted_by(reader, names, summaries).items() if not by}


def _is_done(reader: Reader, wanted: ConsolidationAsked) -> bool:
    """Whether all items are demoted in favour of their summary."""
    who = load_viewer(reader, OWNER)
    if current_summary(reader, who, wanted.item_ids) is None:
        return False
    names = zip(wanted.item_ids, wanted.in_the_name_of, strict=True)
    return all(find_item(reader, who, item_id).retired for item_id, actor in names if actor)


_UNSETTLED = f"""
SELECT l.position, l.stream, l.actor FROM log l
WHERE l.stream BETWEEN :first AND :last AND l.kind = :asked AND {visible("l")} AND NOT EXISTS (
    SELECT 1 FROM log_because b JOIN log s ON s.position = b.dependant
    WHERE b.source = l.position AND s.kind = :settled AND {visible("s")})
ORDER BY l.position
"""  # noqa: S608 - our own conditions
# A demotion is hidden with its summary; one hidden by anything else was retracted on its own.
_STEPPED_BACK = f"""
SELECT i.item_id, iif(EXISTS (
    SELECT 1 FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
    WHERE h.position = m.position AND h.hidden_by NOT IN (
        SELECT hidden_by FROM log_hidden WHERE position = summary.position)), '', l.actor)
FROM json_each(?1) j JOIN memory_items i ON i.item_id = j.value
JOIN memory_marks m ON m.item = i.position JOIN log l ON l.position = m.position
JOIN json_each(?2) s JOIN memory_items summary ON summary.position = s.value
WHERE l.kind = '{Demoted.wire}' AND m.note = summary.item_id AND {visible("i")} ORDER BY m.position
"""  # noqa: S608 - our own conditions
_SINCE = f"""
SELECT DISTINCT i.position FROM json_each(?1) j JOIN memory_sources s ON s.source_id = j.value
JOIN memory_items i ON i.position = s.position
WHERE i.kind = 'summary' AND {visible("i")} AND EXISTS (
    SELECT 1 FROM memory_marks m
    WHERE m.mark = 'demoted' AND m.note = i.item_id AND m.position > ?2)
"""  # noqa: S608 - our own condition
