"""Detects feedback on lessons in users' messages, and records it.

The pretrigger filters first; only what passes goes to a model. No transaction is open during the
model call: its answer is recorded, then the decision, then feedback that depends on that record.
Crash-safe: a repeated turn is not evaluated again, and any feedback still missing is recorded then.
"""

from hashlib import sha256
from typing import Literal

import msgspec

from everloop.errors import ModelFailed, Rejected
from everloop.lessons.feedback.abstain_reasons import MODEL_UNAVAILABLE, NO_LESSONS
from everloop.lessons.feedback.attribution import Attribution, attribute_turn, candidate_lessons
from everloop.lessons.feedback.classifier import BUILT_IN_MODEL, ask_judge, classify
from everloop.lessons.feedback.commands import WeighTurn
from everloop.lessons.feedback.decide import check_turn_id
from everloop.lessons.feedback.events import Reading, Signal
from everloop.lessons.feedback.pretrigger import is_interrupt, may_contain_feedback
from everloop.lessons.feedback.scoring import (
    ScoredTurn,
    best_opinion,
    score_interrupt,
    score_opinion,
    unsupported_host_reasons,
)
from everloop.lessons.feedback.settings import FeedbackSettings
from everloop.lessons.feedback.state import SESSION_TURNS, SessionTurns, TurnResult, turns_stream
from everloop.lessons.feedback.turns import UserTurn
from everloop.lessons.model.commands import GiveFeedback
from everloop.log import CommandBus, Context, Log
from everloop.ports import Model


class DetectionResult(msgspec.Struct, frozen=True):
    """The outcome of a turn. `refused` are the signals that a lesson rejected, and why.

    `ignored`: nothing in it sounded like feedback, or its result was retracted.
    """

    kind: Literal["ignored", "heard", "abstained"]
    signals: tuple[Signal, ...] = ()
    reasons: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class FeedbackDetector:
    """Detects feedback in messages. Without a model, only interrupts give a signal."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        model: Model | None,
        limits: FeedbackSettings | None = None,
    ) -> None:
        self._log = log
        self._bus = bus
        self._model = model
        self._limits = limits or FeedbackSettings()

    def detect(self, heard: UserTurn, *, by: Context) -> DetectionResult:
        """Evaluate a turn and record its feedback, relayed by the actor.

        Raises:
            Invalid: the turn or its session has no id.
        """
        check_turn_id(by.session, heard.turn_id)
        limits = self._limits
        interrupt = is_interrupt(heard.text)
        if not interrupt and not may_contain_feedback(heard.text, short_words=limits.short_words):
            return DetectionResult("ignored")
        if not heard.shown:
            return DetectionResult("abstained", reasons=(NO_LESSONS,))
        known = self._recorded(heard, by)
        if known is None and not self._is_retracted(heard, by):
            asked = self._evaluate_interrupt(heard) if interrupt else self._ask_model(heard)
            if isinstance(asked, DetectionResult):
                return asked
            request_id = _request_id(heard, by)
            self._bus.do(_command(heard, by, asked, limits), by=by, request_id=request_id)
            known = self._recorded(heard, by)
        return (
            DetectionResult("ignored") if known is None else self._give_feedback(heard, known, by)
        )

    def _recorded(self, heard: UserTurn, by: Context) -> TurnResult | None:
        hearing = self._log.state(SESSION_TURNS, turns_stream(by.session)) or SessionTurns()
        return hearing.result_of(heard.turn_id, heard.digest)

    def _is_retracted(self, heard: UserTurn, by: Context) -> bool:
        """Whether its result was recorded and then retracted. Then it is not evaluated again."""
        with self._log.reading() as reader:
            return bool(reader.records_of_request(_request_id(heard, by)))

    def _evaluate_interrupt(self, heard: UserTurn) -> "_Evaluation":
        reasons = unsupported_host_reasons(heard, self._limits)
        weighing = ScoredTurn(reasons=reasons) if reasons else score_interrupt(heard, self._limits)
        return _Evaluation(weighing)

    def _ask_model(self, heard: UserTurn) -> "_Evaluation | DetectionResult":
        """The result of asking a model; an outcome that is not recorded if there is none."""
        if reasons := unsupported_host_reasons(heard, self._limits):
            return _Evaluation(ScoredTurn(reasons=reasons))
        if self._model is None or self._model.name == BUILT_IN_MODEL:
            return DetectionResult("abstained", reasons=(MODEL_UNAVAILABLE,))
        try:
            return self._classify(self._model, heard)
        except ModelFailed as problem:
            return DetectionResult("abstained", reasons=(f"{MODEL_UNAVAILABLE}: {problem}",))

    def _classify(self, model: Model, heard: UserTurn) -> "_Evaluation":
        reading, answered = classify(model, heard, self._limits)
        opinion, reasons = best_opinion(heard, reading, self._limits)
        if opinion is None:
            return _Evaluation(ScoredTurn(reasons=reasons), reading, answered)
        picked = attribute_turn(heard) or self._ask_judge(model, heard)
        return _Evaluation(score_opinion(opinion, picked), reading, answered)

    def _ask_judge(self, model: Model, heard: UserTurn) -> Attribution | None:
        among = candidate_lessons(heard)
        if not 2 <= len(among) <= self._limits.candidates_max:
            return None
        return ask_judge(model, heard, among, self._limits)

    def _give_feedback(self, heard: UserTurn, weighed: TurnResult, by: Context) -> DetectionResult:
        refused: list[str] = []
        for signal in weighed.signals:
            try:
                self._bus.do(_feedback(signal, heard, weighed, by), by=by)
            except Rejected as problem:
                refused.append(f"{signal.lesson_id}: {problem}")
        kind: Literal["heard", "abstained"] = "heard" if weighed.signals else "abstained"
        return DetectionResult(kind, weighed.signals, weighed.reasons, tuple(refused))


class _Evaluation(msgspec.Struct, frozen=True):
    weighing: ScoredTurn
    reading: Reading = Reading()
    model: str = ""


def _request_id(heard: UserTurn, by: Context) -> str:
    name = msgspec.json.encode((by.actor, by.session, heard.turn_id, heard.digest))
    return f"turn-{sha256(name).hexdigest()[:32]}"


def _command(
    heard: UserTurn, by: Context, asked: _Evaluation, limits: FeedbackSettings
) -> WeighTurn:
    return WeighTurn(
        session=by.session,
        turn_id=heard.turn_id,
        text_digest=heard.digest,
        lesson_ids=tuple(each.lesson_id for each in heard.shown),
        signals=asked.weighing.signals,
        reasons=asked.weighing.reasons,
        reading=asked.reading,
        model=asked.model,
        cooldown_s=limits.cooldown_s,
        because=heard.because,
    )


def _feedback(signal: Signal, heard: UserTurn, weighed: TurnResult, by: Context) -> GiveFeedback:
    return GiveFeedback(
        lesson_id=signal.lesson_id,
        helpful=signal.helpful,
        signal_id=f"sentiment:{by.session}:{heard.turn_id}",
        channel="sentiment",
        confidence=signal.confidence,
        because=(weighed.position,),
    )
