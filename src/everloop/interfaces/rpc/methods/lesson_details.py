"""`lesson.*` methods beyond loop-engine: get, edit, narrate, activate, and the gate's checks."""

from typing import Any, Literal

import msgspec

from everloop.completion import Declined
from everloop.errors import Forbidden, Invalid
from everloop.interfaces.rpc.host import RpcHost
from everloop.interfaces.rpc.methods.lessons import LessonById, immune_error, lesson_json
from everloop.interfaces.rpc.shapes import Id, NonEmptyText, scope_json, time_json
from everloop.lessons import (
    EditLesson,
    Evidence,
    GateCheck,
    LessonView,
    MemoryEvidence,
    Narrative,
    parse_evidence,
)


class Edit(msgspec.Struct, frozen=True):
    """Changes to a lesson; absent fields stay as they are."""

    id: Id
    description: NonEmptyText | None = None
    body: NonEmptyText | None = None


class Why(msgspec.Struct, frozen=True):
    """The reason for a lesson: what triggered it, what failed, what fixed it."""

    trigger: str
    failure_mode: str
    correction: str
    confidence: Literal["observed", "inferred", "speculative"]
    evidence: tuple[str, ...] = ()


class Narrate(msgspec.Struct, frozen=True):
    """The reason for a lesson; without one, a model writes it."""

    id: Id
    narrative: Why | None = None


def get(host: RpcHost, asked: LessonById) -> dict[str, Any]:
    """One lesson in full."""
    return _in_full(host.engine.lessons.find(host.actor, asked.id))


def edit(host: RpcHost, asked: Edit) -> dict[str, Any]:
    """Edit a lesson's text."""
    if asked.description is None and asked.body is None:
        raise Invalid("there is nothing to change", hint="Give description or body.")
    command = EditLesson(asked.id, asked.description, asked.body)
    try:
        return {"ok": True, **_in_full(host.engine.lessons.edit(command, by=host.by))}
    except Forbidden as problem:
        raise immune_error(problem, asked.id) from problem


def narrate(host: RpcHost, asked: Narrate) -> dict[str, Any]:
    """Explain the reason for a lesson."""
    narrative = None if asked.narrative is None else _narrative_of(asked.narrative)
    result = host.engine.lessons.narrate(asked.id, by=host.by, narrative=narrative)
    if isinstance(result, Declined):
        return {"ok": False, "id": asked.id, "refused": result.reason}
    return {"ok": True, **_in_full(result)}


def activate(host: RpcHost, asked: LessonById) -> dict[str, Any]:
    """Put a lesson on trial: the user's decision, relayed by a host that the user trusts."""
    lesson = host.engine.lessons.activate(asked.id, by=host.by)
    return {"ok": True, "id": asked.id, "status": lesson.status}


def standing(host: RpcHost, asked: LessonById) -> dict[str, Any]:
    """The gate's checks of a lesson. Nothing is recorded."""
    found = host.engine.lessons.gate_result(host.actor, asked.id)
    return {
        "id": asked.id,
        "status": found.lesson.status,
        "passed": not found.reasons,
        "reasons": found.reasons,
        "checks": [_check(check) for check in found.checks],
    }


def _narrative_of(why: Why) -> Narrative:
    return Narrative(
        why.trigger, why.failure_mode, why.correction, why.confidence, parse_evidence(why.evidence)
    )


def _check(check: GateCheck) -> dict[str, Any]:
    return {
        "name": check.name,
        "passed": check.passed,
        "fact": check.fact,
        "satisfied_by": [violation.satisfied_by for violation in check.violations],
    }


def _in_full(lesson: LessonView) -> dict[str, Any]:
    return {
        **lesson_json(lesson),
        "body": lesson.body,
        "scope": scope_json(lesson.scope),
        "note": lesson.note or None,
        "evidence": [_evidence(each) for each in lesson.evidence],
        "narrative": lesson.narrative and _narrative(lesson.narrative),
        "external_signal_sources": lesson.sources,
        "last_applied_at": lesson.last_used_at and time_json(lesson.last_used_at),
    }


def _evidence(each: Evidence) -> dict[str, Any]:
    if isinstance(each, MemoryEvidence):
        return {"kind": "memory", "id": each.item_id}
    return {"kind": "quote", "text": each.text, "found_in": each.found_in or None}


def _narrative(narrative: Narrative) -> dict[str, Any]:
    return {
        "trigger": narrative.trigger,
        "failure_mode": narrative.failure_mode,
        "correction": narrative.correction,
        "confidence": narrative.confidence,
        "evidence": [_evidence(each) for each in narrative.evidence],
    }
