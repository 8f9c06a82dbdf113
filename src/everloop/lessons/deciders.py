"""The commands of lessons and how each is decided: one row each, for the composition root."""

from collections.abc import Callable
from functools import partial
from typing import Any

from everloop.lessons import lookup
from everloop.lessons.decide import feedback, hosts, lesson
from everloop.lessons.model import commands as c
from everloop.lessons.model.state import (
    HOST,
    LESSON,
    SHOWN,
    TASK,
    host_stream,
    lesson_stream,
    manifest_stream,
    task_stream,
)
from everloop.lessons.settings import GateRules
from everloop.log import Decider


def _lesson(command: Any) -> str:
    return lesson_stream(command.lesson_id)


def _host(command: c.TrustHost | c.DistrustHost) -> str:
    return host_stream(command.host)


def _task(command: c.LogPhase) -> str:
    return task_stream(command.task_id)


def _manifest(command: c.ShowManifest) -> str:
    return manifest_stream(command.context_id)


def _of(command: Any, how: Callable[..., Any], also: Any = None) -> Decider[Any, Any]:
    return Decider(command, _lesson, LESSON, how, also=also)


LESSON_DECIDERS: tuple[Decider[Any, Any], ...] = (
    _of(c.ProposeLesson, lesson.propose_lesson, lookup.evidence_for),
    _of(c.EditLesson, lesson.edit_lesson, lookup.whom_to_trust),
    _of(c.ActivateLesson, lesson.activate_lesson, lookup.whom_to_trust),
    _of(c.DemoteLesson, lesson.demote_lesson, lookup.whom_to_trust),
    _of(c.DiscardLesson, lesson.discard_lesson, lookup.whom_to_trust),
    _of(c.SupersedeLesson, lesson.supersede_lesson, lookup.replacement_for),
    _of(c.UseLesson, feedback.use_lesson, lookup.used_before),
    _of(c.GiveFeedback, feedback.give_feedback),
    _of(c.WithdrawFeedback, feedback.withdraw_feedback),
    _of(c.RecordVerdict, feedback.record_verdict),
    _of(c.NarrateLesson, feedback.narrate_lesson, lookup.evidence_for),
    _of(c.RefuseNarrative, feedback.refuse_narrative),
    Decider(c.TrustHost, _host, HOST, hosts.trust_host),
    Decider(c.DistrustHost, _host, HOST, hosts.distrust_host),
    Decider(c.LogPhase, _task, TASK, hosts.log_phase),
    Decider(c.ShowManifest, _manifest, SHOWN, hosts.show_manifest),
)


def gate_decider(rules: GateRules) -> Decider[Any, Any]:
    """How a promotion is decided, under the rules in force."""
    how = partial(feedback.promote_lesson, rules=rules)
    return _of(c.PromoteLesson, how, lookup.case_of)
