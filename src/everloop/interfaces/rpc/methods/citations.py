"""`memory.recompute_citations`: counts which memories the current lessons cite."""

from typing import Any

from everloop.interfaces.rpc.host import RpcHost
from everloop.interfaces.rpc.methods.ping import Nothing
from everloop.lessons import (
    LIVE_STATUSES,
    LessonView,
    MemoryEvidence,
    lesson_positions,
    load_lessons,
)
from everloop.memory import items_with_ids, load_viewer


def recompute(host: RpcHost, asked: Nothing) -> dict[str, Any]:
    """Count the citations of all live lessons.

    `counters_repaired` is always 0: no counter is stored, citations are counted when needed.
    """
    del asked
    with host.engine.reading() as reader:
        who = load_viewer(reader, host.actor)
        lessons = load_lessons(reader, lesson_positions(reader, who, LIVE_STATUSES))
        cited = [item_id for lesson in lessons for item_id in _cited(lesson)]
        found = {item.item_id for item in items_with_ids(reader, who, sorted(set(cited)))}
    return {
        "lessons_scanned": len(lessons),
        "memories_recomputed": len(found),
        "counters_repaired": 0,
        "orphan_citations": sum(item_id not in found for item_id in cited),
    }


def _cited(lesson: LessonView) -> set[str]:
    """The memories that a lesson or its narrative cites."""
    from_narrative = lesson.narrative.evidence if lesson.narrative else ()
    evidence = (*lesson.evidence, *from_narrative)
    return {each.item_id for each in evidence if isinstance(each, MemoryEvidence)}
