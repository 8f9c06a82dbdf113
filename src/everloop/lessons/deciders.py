"""The commands of lessons and how each is decided: one row each, for the composition root."""

from collections.abc import Callable
from functools import partial
from typing import Any

from everloop.lessons import commands as c
from everloop.lessons import decide, hosting, lookup, signals
from everloop.lessons.limits import GateRules
from everloop.lessons.state import (
    HOST,
    LESSON,
    SHOWN,
    TASK,
    host_stream,
    lesson_stream,
    manifest_stream,
    task_stream,
)
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
    _of(c.ProposeLesson, decide.propose_lesson, lookup.evidence_for),
    _of(c.EditLesson, decide.edit_lesson, lookup.whom_to_trust),
    _of(c.ActivateLesson, decide.activate_lesson, lookup.whom_to_trust),
    _of(c.DemoteLesson, decide.demote_lesson, lookup.whom_to_trust),
    _of(c.DiscardLesson, decide.discard_lesson, lookup.whom_to_trust),
    _of(c.SupersedeLesson, decide.supersede_lesson, lookup.replacement_for),
    _of(c.UseLesson, signals.use_lesson, lookup.used_before),
    _of(c.GiveFeedback, signals.give_feedback),
    _of(c.WithdrawFeedback, signals.withdraw_feedback),
    _of(c.RecordVerdict, signals.record_verdict),
    _of(c.NarrateLesson, signals.narrate_lesson, lookup.evidence_for),
    _of(c.RefuseNarrative, signals.refuse_narrative),
    Decider(c.TrustHost, _host, HOST, hosting.trust_host),
    Decider(c.DistrustHost, _host, HOST, hosting.distrust_host),
    Decider(c.LogPhase, _task, TASK, hosting.log_phase),
    Decider(c.ShowManifest, _manifest, SHOWN, hosting.show_manifest),
)


def gate_decider(rules: GateRules) -> Decider[Any, Any]:
    """How a promotion is decided, under the rules in force."""
    how = partial(signals.promote_lesson, rules=rules)
    return _of(c.PromoteLesson, how, lookup.case_of)
