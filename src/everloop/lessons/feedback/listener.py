"""When a user spoke, hear whether a lesson was praised or blamed.

The pretrigger looks first, and a model is asked only about what it lets through. No transaction is
open while a model thinks: what it said is recorded, then decided on, then given as feedback that
stands on that record. A crash in between loses nothing: the same turn heard again is not weighed
again, and what feedback it lacks is given then.
"""

from collections.abc import Callable
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
from everloop.log import Context, Log, Receipt
from everloop.ports import Model

Do = Callable[..., Receipt]


class Outcome(msgspec.Struct, frozen=True):
    """What hearing a turn came to. `refused` are the signals that a lesson did not take, and why.

    `ignored`: nothing in it sounded like feedback, or someone took back what was heard.
    """

    kind: Literal["ignored", "heard", "abstained"]
    signals: tuple[Signal, ...] = ()
    reasons: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class Listener:
    """Hears feedback in users' words. Without a model, only interrupts are heard."""

    def __init__(
        self, log: Log, do: Do, model: Model | None, limits: SentimentSettings | None = None
    ) -> None:
        self._log = log
        self._do = do
        self._model = model
        self._limits = limits or SentimentSettings()

    def hear(self, heard: Heard, *, by: Context) -> Outcome:
        """Weigh a turn and give the feedback it holds, in the name of whoever relays it.

        Raises:
            Invalid: the turn or its session has no name.
        """
        check_named(by.session, heard.turn_id)
        limits = self._limits
        interrupt = is_interrupt(heard.text)
        if not interrupt and not may_hold_feedback(heard.text, short_words=limits.short_words):
            return Outcome("ignored")
        if not heard.shown:
            return Outcome("abstained", reasons=(NO_LESSONS,))
        known = self._known(heard, by)
        if known is None and not self._taken_back(heard, by):
            asked = self._interrupted(heard) if interrupt else self._asked(heard)
            if isinstance(asked, Outcome):
                return asked
            request_id = _request_id(heard, by)
            self._do(_command(heard, by, asked, limits), by=by, request_id=request_id)
            known = self._known(heard, by)
        return Outcome("ignored") if known is None else self._given(heard, known, by)

    def _known(self, heard: Heard, by: Context) -> Weighed | None:
        hearing = self._log.state(HEARING, stream_of(by.session)) or Hearing()
        return hearing.known(heard.turn_id, heard.digest)

    def _taken_back(self, heard: Heard, by: Context) -> bool:
        """Whether it was weighed before and that no longer counts. Then it stays that way."""
        with self._log.reading() as reader:
            return bool(reader.requested(_request_id(heard, by)))

    def _interrupted(self, heard: Heard) -> "_Asked":
        reasons = untested(heard, self._limits)
        weighing = Weighing(reasons=reasons) if reasons else weigh_interrupt(heard, self._limits)
        return _Asked(weighing)

    def _asked(self, heard: Heard) -> "_Asked | Outcome":
        """What a model makes of it. Without one there is nothing to record."""
        if reasons := untested(heard, self._limits):
            return _Asked(Weighing(reasons=reasons))
        if self._model is None or self._model.name == OFFLINE:
            return Outcome("abstained", reasons=(MODEL_UNAVAILABLE,))
        try:
            return self._weighed(self._model, heard)
        except ModelFailed as problem:
            return Outcome("abstained", reasons=(f"{MODEL_UNAVAILABLE}: {problem}",))

    def _weighed(self, model: Model, heard: Heard) -> "_Asked":
        reading, answered = read(model, heard, self._limits)
        opinion, reasons = standing(heard, reading, self._limits)
        if opinion is None:
            return _Asked(Weighing(reasons=reasons), reading, answered)
        picked = pick(heard) or self._judged(model, heard)
        return _Asked(weigh(opinion, picked), reading, answered)

    def _judged(self, model: Model, heard: Heard) -> Pick | None:
        among = candidates(heard)
        if not 2 <= len(among) <= self._limits.candidates_max:
            return None
        return judge(model, heard, among, self._limits)

    def _given(self, heard: Heard, weighed: Weighed, by: Context) -> Outcome:
        refused: list[str] = []
        for signal in weighed.signals:
            try:
                self._do(_feedback(signal, heard, weighed, by), by=by)
            except Rejected as problem:
                refused.append(f"{signal.lesson_id}: {problem}")
        kind: Literal["heard", "abstained"] = "heard" if weighed.signals else "abstained"
        return Outcome(kind, weighed.signals, weighed.reasons, tuple(refused))


class _Asked(msgspec.Struct, frozen=True):
    weighing: Weighing
    reading: Reading = Reading()
    model: str = ""


def _request_id(heard: Heard, by: Context) -> str:
    name = msgspec.json.encode((by.actor, by.session, heard.turn_id, heard.digest))
    return f"turn-{sha256(name).hexdigest()[:32]}"


def _command(heard: Heard, by: Context, asked: _Asked, limits: SentimentSettings) -> WeighTurn:
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
