"""`memory.recompute_citations`: counts which memories the current lessons cite."""

from typing import Any

from everloop.interfaces.rpc.host import Host
from everloop.interfaces.rpc.methods.ping import Nothing
from everloop.lessons.model.events import MemoryEvidence
from everloop.lessons.model.lifecycle import LIVE
from everloop.lessons.projections.queries import LessonSeen, load, positions
from everloop.memory.browse.queries import these
from everloop.memory.projections.queries import asker


def recompute(host: Host, asked: Nothing) -> dict[str, Any]:
    """Count the citations of all live lessons.

    `counters_repaired` is always 0: no counter is stored, citations are counted when needed.
    """
    del asked
    with host.engine.reading() as reader:
        who = asker(reader, host.actor)
        lessons = load(reader, positions(reader, who, LIVE))
        cited = [item_id for lesson in lessons for item_id in _cited(lesson)]
        found = {item.item_id for item in these(reader, who, sorted(set(cited)))}
    return {
        "lessons_scanned": len(lessons),
        "memories_recomputed": len(found),
        "counters_repaired": 0,
        "orphan_citations": sum(item_id not in found for item_id in cited),
    }


def _cited(lesson: LessonSeen) -> set[str]:
    """The memories that a lesson or its narrative cites."""
    from_narrative = lesson.narrative.evidence if lesson.narrative else ()
    evidence = (*lesson.evidence, *from_narrative)
    return {each.item_id for each in evidence if isinstance(each, MemoryEvidence)}
