"""The decider table of lessons: stream, fold, decision and lookup of each command."""

from collections.abc import Callable
from functools import partial
from typing import Any

from everloop.lessons import lookup
from everloop.lessons.decide import feedback, gate_rules, hosts, lesson
from everloop.lessons.gate.case_queries import load_gate_case
from everloop.lessons.model import commands as c
from everloop.lessons.model.state import (
    GATE_RULES,
    HOST,
    LESSON,
    MANIFEST,
    RULES_STREAM,
    TASK,
    WORDS,
    host_stream,
    lesson_stream,
    manifest_stream,
    task_stream,
    words_stream,
)
from everloop.lessons.settings import GateRules
from everloop.log import Decider


def _lesson_stream(command: Any) -> str:
    return lesson_stream(command.lesson_id)


def _host_stream(command: c.TrustHost | c.DistrustHost) -> str:
    return host_stream(command.host)


def _rules_stream(command: c.SetGateRules) -> str:
    del command
    return RULES_STREAM


def _words_stream(command: c.HearWords) -> str:
    return words_stream(command.host, command.session)


def _task_stream(command: c.LogPhase) -> str:
    return task_stream(command.task_id)


def _manifest_stream(command: c.ShowManifest) -> str:
    return manifest_stream(command.context_id)


def _decider(command: Any, decide: Callable[..., Any], also: Any = None) -> Decider[Any, Any]:
    return Decider(command, _lesson_stream, LESSON, decide, also=also)


LESSON_DECIDERS: tuple[Decider[Any, Any], ...] = (
    _decider(c.ProposeLesson, lesson.propose_lesson, lookup.evidence_lookup),
    _decider(c.EditLesson, lesson.edit_lesson, lookup.trust_lookup),
    _decider(c.ActivateLesson, lesson.activate_lesson, lookup.trust_lookup),
    _decider(c.DemoteLesson, lesson.demote_lesson, lookup.trust_lookup),
    _decider(c.DiscardLesson, lesson.discard_lesson, lookup.trust_lookup),
    _decider(c.SupersedeLesson, lesson.supersede_lesson, lookup.replacement_lookup),
    _decider(c.UseLesson, feedback.use_lesson, lookup.recorded_uses),
    _decider(c.GiveFeedback, feedback.give_feedback, lookup.words_lookup),
    _decider(c.WithdrawFeedback, feedback.withdraw_feedback),
    _decider(c.RecordVerdict, feedback.record_verdict),
    _decider(c.NarrateLesson, feedback.narrate_lesson, lookup.evidence_lookup),
    _decider(c.RefuseNarrative, feedback.refuse_narrative),
    Decider(c.TrustHost, _host_stream, HOST, hosts.trust_host),
    Decider(c.DistrustHost, _host_stream, HOST, hosts.distrust_host),
    Decider(c.SetGateRules, _rules_stream, GATE_RULES, gate_rules.set_gate_rules),
    Decider(c.HearWords, _words_stream, WORDS, hosts.hear_words, also=lookup.trust_lookup),
    Decider(c.LogPhase, _task_stream, TASK, hosts.log_phase, also=lookup.audience_lookup),
    Decider(c.ShowManifest, _manifest_stream, MANIFEST, hosts.show_manifest),
)


def gate_decider(settings: GateRules) -> Decider[Any, Any]:
    """The decider of `PromoteLesson`, with the gate's rules from the settings."""
    decide = partial(lesson.promote_lesson, rules=settings)
    return _decider(c.PromoteLesson, decide, load_gate_case)
