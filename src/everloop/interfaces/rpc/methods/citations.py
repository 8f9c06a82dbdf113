"""`memory.recompute_citations`: what stands on which memories, counted anew from the links."""

from typing import Any

from everloop.interfaces.rpc.host import Host
from everloop.interfaces.rpc.methods.ping import Nothing
from everloop.lessons.model.events import MemoryEvidence
from everloop.lessons.model.lifecycle import LIVE
from everloop.lessons.projections.queries import LessonSeen, load, positions
from everloop.memory.browse.queries import these
from everloop.memory.projections.queries import asker


def recompute(host: Host, asked: Nothing) -> dict[str, Any]:
    """Look at every lesson that stands, and at the memories that it names.

    No counter is ever repaired, because none is kept: each count is made from links when asked.
    """
    del asked
    with host.engine.reading() as reader:
        who = asker(reader, host.actor)
        lessons = load(reader, positions(reader, who, LIVE))
        named = [item_id for lesson in lessons for item_id in _named(lesson)]
        found = {item.item_id for item in these(reader, who, sorted(set(named)))}
    return {
        "lessons_scanned": len(lessons),
        "memories_recomputed": len(found),
        "counters_repaired": 0,
        "orphan_citations": sum(item_id not in found for item_id in named),
    }


def _named(lesson: LessonSeen) -> set[str]:
    """The memories that a lesson or its narrative names."""
    told = lesson.narrative.evidence if lesson.narrative else ()
    evidence = (*lesson.evidence, *told)
    return {each.item_id for each in evidence if isinstance(each, MemoryEvidence)}
