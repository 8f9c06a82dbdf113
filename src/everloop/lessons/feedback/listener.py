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
from everloop.lessons.feedback.attribution import Pick, candidates, pick
from everloop.lessons.feedback.classifier import OFFLINE, judge, read
from everloop.lessons.feedback.commands import WeighTurn
from everloop.lessons.feedback.decide import check_named
from everloop.lessons.feedback.events import Reading, Signal
from everloop.lessons.feedback.pretrigger import is_interrupt, may_hold_feedback
from everloop.lessons.feedback.scoring import (
    Weighing,
    standing,
    untested,
    weigh,
    weigh_interrupt,
)
from everloop.lessons.feedback.settings import SentimentSettings
from everloop.lessons.feedback.state import HEARING, Hearing, Weighed, stream_of
from everloop.lessons.feedback.turns import Heard
from everloop.lessons.model.commands import GiveFeedback
from everloop.log import CommandBus, Context, Log
from everloop.ports import Model


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of a turn. `refused` are the signals that a lesson rejected, and why.

    `ignored`: nothing in it sounded like feedback, or its result was retracted.
    """

    kind: Literal["ignored", "heard", "abstained"]
    signals: tuple[Signal, ...] = ()
    reasons: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class Listener:
    """Detects feedback in messages. Without a model, only interrupts give a signal."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        model: Model | None,
        limits: SentimentSettings | None = None,
    ) -> None:
        self._log = log
        self._bus = bus
        self._model = model
        self._limits = limits or SentimentSettings()

    def hear(self, heard: Heard, *, by: Context) -> Outcome:
        """Evaluate a turn and record its feedback, relayed by the actor.

        Raises:
            Invalid: the turn or its session has no id.
        """
        check_named(by.session, heard.turn_id)
        limits = self._limits
        interrupt = is_interrupt(heard.text)
        if not interrupt and not may_hold_feedback(heard.text, short_words=limits.short_words):
            return Outcome("ignored")
        if not heard.shown:
            return Outcome("abstained", reasons=(NO_LESSONS,))
        known = self._recorded(heard, by)
        if known is None and not self._is_retracted(heard, by):
            asked = self._evaluate_interrupt(heard) if interrupt else self._ask_model(heard)
            if isinstance(asked, Outcome):
                return asked
            request_id = _request_id(heard, by)
            self._bus.do(_command(heard, by, asked, limits), by=by, request_id=request_id)
            known = self._recorded(heard, by)
        return Outcome("ignored") if known is None else self._give_feedback(heard, known, by)

    def _recorded(self, heard: Heard, by: Context) -> Weighed | None:
        hearing = self._log.state(HEARING, stream_of(by.session)) or Hearing()
        return hearing.known(heard.turn_id, heard.digest)

    def _is_retracted(self, heard: Heard, by: Context) -> bool:
        """Whether its result was recorded and then retracted. Then it is not evaluated again."""
        with self._log.reading() as reader:
            return bool(reader.requested(_request_id(heard, by)))

    def _evaluate_interrupt(self, heard: Heard) -> "_Evaluation":
        reasons = untested(heard, self._limits)
        weighing = Weighing(reasons=reasons) if reasons else weigh_interrupt(heard, self._limits)
        return _Evaluation(weighing)

    def _ask_model(self, heard: Heard) -> "_Evaluation | Outcome":
        """The result of asking a model; an outcome that is not recorded if there is none."""
        if reasons := untested(heard, self._limits):
            return _Evaluation(Weighing(reasons=reasons))
        if self._model is None or self._model.name == OFFLINE:
            return Outcome("abstained", reasons=(MODEL_UNAVAILABLE,))
        try:
            return self._classify(self._model, heard)
        except ModelFailed as problem:
            return Outcome("abstained", reasons=(f"{MODEL_UNAVAILABLE}: {problem}",))

    def _classify(self, model: Model, heard: Heard) -> "_Evaluation":
        reading, answered = read(model, heard, self._limits)
        opinion, reasons = standing(heard, reading, self._limits)
        if opinion is None:
            return _Evaluation(Weighing(reasons=reasons), reading, answered)
        picked = pick(heard) or self._ask_judge(model, heard)
        return _Evaluation(weigh(opinion, picked), reading, answered)

    def _ask_judge(self, model: Model, heard: Heard) -> Pick | None:
        among = candidates(heard)
        if not 2 <= len(among) <= self._limits.candidates_max:
            return None
        return judge(model, heard, among, self._limits)

    def _give_feedback(self, heard: Heard, weighed: Weighed, by: Context) -> Outcome:
        refused: list[str] = []
        for signal in weighed.signals:
            try:
                self._bus.do(_feedback(signal, heard, weighed, by), by=by)
            except Rejected as problem:
                refused.append(f"{signal.lesson_id}: {problem}")
        kind: Literal["heard", "abstained"] = "heard" if weighed.signals else "abstained"
        return Outcome(kind, weighed.signals, weighed.reasons, tuple(refused))


class _Evaluation(msgspec.Struct, frozen=True):
    weighing: Weighing
    reading: Reading = Reading()
    model: str = ""


def _request_id(heard: Heard, by: Context) -> str:
    name = msgspec.json.encode((by.actor, by.session, heard.turn_id, heard.digest))
    return f"turn-{sha256(name).hexdigest()[:32]}"


def _command(heard: Heard, by: Context, asked: _Evaluation, limits: SentimentSettings) -> WeighTurn:
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


def _feedback(signal: Signal, heard: Heard, weighed: Weighed, by: Context) -> GiveFeedback:
    return GiveFeedback(
        lesson_id=signal.lesson_id,
        helpful=signal.helpful,
        signal_id=f"sentiment:{by.session}:{heard.turn_id}",
        channel="sentiment",
        confidence=signal.confidence,
        because=(weighed.position,),
    )
