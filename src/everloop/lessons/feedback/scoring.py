"""Turns a classifier's reading into signals, or into the reasons against them. Pure."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from everloop.lessons.feedback.abstain_reasons import (
    ATTRIBUTION_DIFFERS,
    BELOW_THRESHOLD,
    CLASSIFIER_ABSTAINED,
    HAZARD,
    NEUTRAL,
    UNATTRIBUTED,
    UNTESTED_HOST,
)
from everloop.lessons.feedback.attribution import Attribution
from everloop.lessons.feedback.events import Hazard, Opinion, Reading, Signal
from everloop.lessons.feedback.settings import FeedbackSettings
from everloop.lessons.feedback.turns import EarlierTurn, UserTurn

BLOCKING_HAZARDS: Final[tuple[Hazard, ...]] = (
    "sarcasm",
    "ambiguous-referent",
    "out-of-distribution",
    "self-directed",
)


class ScoredTurn(msgspec.Struct, frozen=True):
    """Signals, or the reasons why there are none."""

    signals: tuple[Signal, ...] = ()
    reasons: tuple[str, ...] = ()


def unsupported_host_reasons(heard: UserTurn, limits: FeedbackSettings) -> tuple[str, ...]:
    """The reason against a host whose major version is not supported; empty if it is."""
    major = heard.host_version.partition(".")[0].strip()
    known = {version.strip() for version in limits.host_versions.split(",")}
    return () if not major or major in known else (f"{UNTESTED_HOST}: {heard.host_version[:40]}",)


def best_opinion(
    heard: UserTurn, reading: Reading, limits: FeedbackSettings
) -> tuple[Opinion | None, tuple[str, ...]]:
    """The most confident opinion that passes every check, else the reasons against them all."""
    if reading.abstain:
        return None, (CLASSIFIER_ABSTAINED,)
    if risky := _risks(reading.hazards):
        return None, risky
    voiced = [opinion for opinion in reading.opinions if _is_voiced(opinion, heard)]
    if not voiced:
        return None, (NEUTRAL,)
    clear = [opinion for opinion in voiced if not _risks(opinion.hazards)]
    if not clear:
        return None, _unique(_risks(opinion.hazards) for opinion in voiced)
    sure = [opinion for opinion in clear if not _low_confidence(opinion, limits)]
    if not sure:
        return None, _unique(_low_confidence(opinion, limits) for opinion in clear)
    return max(sure, key=lambda opinion: opinion.confidence), ()


def score_opinion(opinion: Opinion, picked: Attribution | None) -> ScoredTurn:
    """The signal, if classifier and attribution agree; with the lower confidence of the two."""
    if picked is None:
        return ScoredTurn(reasons=(UNATTRIBUTED,))
    if picked.lesson_id != opinion.lesson_id:
        differs = f"{ATTRIBUTION_DIFFERS}: {picked.lesson_id} is not {opinion.lesson_id}"
        return ScoredTurn(reasons=(differs,))
    sure = min(opinion.confidence, picked.confidence)
    helpful = opinion.polarity == "positive"
    return ScoredTurn((Signal(opinion.lesson_id, helpful, sure, picked.told_by),))


def score_interrupt(heard: UserTurn, limits: FeedbackSettings) -> ScoredTurn:
    """Blame of the lessons that the interrupted turn acted on, if it was interrupted soon."""
    last = heard.last_answer
    if last is None or not _is_soon(last, heard, limits):
        return ScoredTurn(reasons=(UNATTRIBUTED,))
    sure = limits.interrupt_confidence
    if sure < limits.negative_min:
        return ScoredTurn(reasons=(_below("negative", sure, limits.negative_min),))
    lessons = heard.only_shown(last.lesson_ids)
    signals = tuple(Signal(name, False, sure, "interrupt") for name in lessons)
    return ScoredTurn(signals) if signals else ScoredTurn(reasons=(UNATTRIBUTED,))


def _is_soon(turn: EarlierTurn, heard: UserTurn, limits: FeedbackSettings) -> bool:
    if turn.at is None or heard.at is None:
        return False
    return timedelta() <= heard.at - turn.at <= timedelta(seconds=limits.interrupt_within_s)


def _is_voiced(opinion: Opinion, heard: UserTurn) -> bool:
    """Whether it praises or blames a shown lesson, with evidence that is in the message."""
    shown = any(each.lesson_id == opinion.lesson_id for each in heard.shown)
    return shown and opinion.polarity != "neutral" and opinion.evidence in heard.text


def _risks(hazards: Sequence[Hazard]) -> tuple[str, ...]:
    return tuple(f"{HAZARD}: {hazard}" for hazard in BLOCKING_HAZARDS if hazard in hazards)


def _low_confidence(opinion: Opinion, limits: FeedbackSettings) -> tuple[str, ...]:
    positive = opinion.polarity == "positive"
    least = limits.positive_min if positive else limits.negative_min
    if opinion.confidence >= least:
        return ()
    return (_below(opinion.polarity, opinion.confidence, least),)


def _below(polarity: str, confidence: float, least: float) -> str:
    return f"{BELOW_THRESHOLD}: {polarity} {confidence:.2f} < {least:.2f}"


def _unique(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason for group in groups for reason in group))
