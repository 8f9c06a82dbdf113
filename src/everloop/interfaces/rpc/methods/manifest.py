"""`manifest.assemble`: everything to put into a host's prompt, in one call."""

from typing import Any

import msgspec

from everloop.interfaces.rpc.host import RpcHost
from everloop.interfaces.rpc.shapes import (
    PAGE_MAX,
    NonNegativeInt,
    ScopeFilter,
    parse_scope_filter,
    time_json,
)
from everloop.lessons import EntrySummary, Manifest, ManifestLesson, ManifestMemory, ManifestRequest


class Assemble(msgspec.Struct, frozen=True):
    """What to include. `record_applied` records what was shown; only `lesson.used` is a use."""

    statuses: tuple[str, ...] = ("active",)
    lesson_limit: NonNegativeInt = 5
    body_preview_len: NonNegativeInt = 200
    annotate_with_gate: bool = True
    record_applied: bool = True
    memory_query: str = ""
    memory_limit: NonNegativeInt = 5
    memory_scope_filter: ScopeFilter | None = None


def assemble(host: RpcHost, asked: Assemble) -> dict[str, Any]:
    """Assemble the lessons, memories, skills, personas and teams that this host may see."""
    if asked.memory_query.strip():
        host.embed_missing()
    wish = ManifestRequest(
        statuses=asked.statuses,
        lesson_limit=min(asked.lesson_limit, PAGE_MAX),
        preview_characters=asked.body_preview_len,
        gate=asked.annotate_with_gate,
        record=asked.record_applied,
        memory_query=asked.memory_query,
        memory_limit=min(asked.memory_limit, PAGE_MAX),
        memory_only=parse_scope_filter(asked.memory_scope_filter),
    )
    made = host.engine.manifests.build(wish, by=host.by)
    return {
        "active_lessons": [_lesson(shown) for shown in made.lessons],
        "memories": [_memory(shown) for shown in made.memories],
        "active_skills": [_entry(each) for each in made.skills],
        "active_personas": [_entry(each) for each in made.personas],
        "active_teams": [_entry(each) for each in made.teams],
        "assembly_stats": _stats(made),
    }


def _lesson(shown: ManifestLesson) -> dict[str, Any]:
    lesson = shown.lesson
    result: dict[str, Any] = {
        "id": lesson.lesson_id,
        "description": lesson.description,
        "status": lesson.status,
        "body_preview": shown.preview,
        "applied_count": lesson.uses,
        "last_applied_at": time_json(lesson.last_used_at) if lesson.last_used_at else None,
        "target_skill": lesson.target_skill or None,
    }
    if shown.gate is None:
        return result
    return {**result, "gate": {"kind": shown.gate.kind, "reason_count": len(shown.gate.reasons)}}


def _memory(shown: ManifestMemory) -> dict[str, Any]:
    return {
        "id": shown.item_id,
        "description": shown.title,
        "body_preview": shown.preview,
        "similarity": round(shown.similarity, 3),
    }


def _entry(each: EntrySummary) -> dict[str, Any]:
    return {"id": each.name, "name": each.title, "description": each.description}


def _stats(made: Manifest) -> dict[str, Any]:
    stats = made.stats
    return {
        "assembled_at": time_json(stats.assembled_at),
        "total_listed": stats.listed,
        "skipped_count": stats.skipped,
        "gate_skip_count": stats.gate_skips,
        "record_applied_failures": stats.record_failures,
        "memories_returned": stats.memories,
        "memory_search_failures": stats.memory_failures,
        "session_section_skips": stats.stale,
    }
