"""`lesson.*` beyond loop-engine: one in full, its words, its narrative, its trial, its standing."""

from typing import Any, Literal

import msgspec

from everloop.completion import Declined
from everloop.errors import Forbidden, Invalid
from everloop.interfaces.rpc.host import Host
from everloop.interfaces.rpc.methods.lessons import One, brief, immune
from everloop.interfaces.rpc.shapes import Id, Words, scope_told, time_told
from everloop.lessons.gate.checks import Check
from everloop.lessons.gate.evidence import evidence_of
from everloop.lessons.model.commands import EditLesson
from everloop.lessons.model.events import Evidence, MemoryEvidence, Narrative
from everloop.lessons.projections.queries import LessonSeen


class Edit(msgspec.Struct, frozen=True):
    """What to change; what is absent stays."""

    id: Id
    description: Words | None = None
    body: Words | None = None


class Why(msgspec.Struct, frozen=True):
    """Why a lesson holds."""

    trigger: str
    failure_mode: str
    correction: str
    confidence: Literal["observed", "inferred", "speculative"]
    evidence: tuple[str, ...] = ()


class Narrate(msgspec.Struct, frozen=True):
    """Why a lesson holds; without a narrative, a model is asked."""

    id: Id
    narrative: Why | None = None


def get(host: Host, asked: One) -> dict[str, Any]:
    """One lesson in full."""
    return _whole(host.engine.lessons.find(host.actor, asked.id))


def edit(host: Host, asked: Edit) -> dict[str, Any]:
    """Change a lesson's words."""
    if asked.description is None and asked.body is None:
        raise Invalid("there is nothing to change", hint="Give description or body.")
    command = EditLesson(asked.id, asked.description, asked.body)
    try:
        return {"ok": True, **_whole(host.engine.lessons.edit(command, by=host.by))}
    except Forbidden as problem:
        raise immune(problem, asked.id) from problem


def narrate(host: Host, asked: Narrate) -> dict[str, Any]:
    """Say why a lesson holds."""
    narrative = None if asked.narrative is None else _narrative_of(asked.narrative)
    told = host.engine.lessons.narrate(asked.id, by=host.by, narrative=narrative)
    if isinstance(told, Declined):
        return {"ok": False, "id": asked.id, "refused": told.reason}
    return {"ok": True, **_whole(told)}


def activate(host: Host, asked: One) -> dict[str, Any]:
    """Put a lesson on trial: the user's word, passed on by a host that the user trusts."""
    lesson = host.engine.lessons.activate(asked.id, by=host.by)
    return {"ok": True, "id": asked.id, "status": lesson.status}


def standing(host: Host, asked: One) -> dict[str, Any]:
    """How a lesson stands before the gate. Nothing is recorded."""
    found = host.engine.lessons.standing(host.actor, asked.id)
    return {
        "id": asked.id,
        "status": found.lesson.status,
        "passed": not found.reasons,
        "reasons": found.reasons,
        "checks": [_check(check) for check in found.checks],
    }


def _narrative_of(why: Why) -> Narrative:
    return Narrative(
        why.trigger, why.failure_mode, why.correction, why.confidence, evidence_of(why.evidence)
    )


def _check(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "passed": check.passed,
        "fact": check.fact,
        "satisfied_by": [violation.satisfied_by for violation in check.violations],
    }


def _whole(lesson: LessonSeen) -> dict[str, Any]:
    return {
        **brief(lesson),
        "body": lesson.body,
        "scope": scope_told(lesson.scope),
        "note": lesson.note or None,
        "evidence": [_evidence(each) for each in lesson.evidence],
        "narrative": lesson.narrative and _narrative(lesson.narrative),
        "external_signal_sources": lesson.sources,
        "last_applied_at": lesson.last_used_at and time_told(lesson.last_used_at),
    }


def _evidence(each: Evidence) -> dict[str, Any]:
    if isinstance(each, MemoryEvidence):
        return {"kind": "memory", "id": each.item_id}
    return {"kind": "quote", "text": each.text, "found_in": each.found_in or None}


def _narrative(told: Narrative) -> dict[str, Any]:
    return {
        "trigger": told.trigger,
        "failure_mode": told.failure_mode,
        "correction": told.correction,
        "confidence": told.confidence,
        "evidence": [_evidence(each) for each in told.evidence],
    }
