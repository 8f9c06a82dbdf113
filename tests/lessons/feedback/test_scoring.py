"""Scoring a classified turn: thresholds, hazards and reasons."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from everloop.lessons.feedback.attribution import Attribution
from everloop.lessons.feedback.events import Opinion, Reading, Signal
from everloop.lessons.feedback.scoring import (
    ScoredTurn,
    best_opinion,
    score_interrupt,
    score_opinion,
    unsupported_host_reasons,
)
from everloop.lessons.feedback.settings import FeedbackSettings
from everloop.lessons.feedback.turns import CandidateLesson, EarlierTurn, UserTurn
from everloop.testing.deterministic import NEW_YEAR

LIMITS = FeedbackSettings()
SHOWN = (CandidateLesson("les-1", "Use pnpm"), CandidateLesson("les-2", "Run the tests"))
HEARD = UserTurn("t", "that is wrong", shown=SHOWN)


def opinion(**more: Any) -> Opinion:
    plain: dict[str, Any] = {"lesson_id": "les-1", "polarity": "negative", "confidence": 0.9}
    return Opinion(**{**plain, **more})


@pytest.mark.parametrize(
    ("reading", "reasons"),
    [
        (Reading((opinion(),), abstain=True), ("classifier-abstained",)),
        (Reading((opinion(),), ("sarcasm",)), ("hazard: sarcasm",)),
        (Reading((opinion(hazards=("self-directed",)),)), ("hazard: self-directed",)),
        (Reading((opinion(hazards=("ambiguous-referent",)),)), ("hazard: ambiguous-referent",)),
        (Reading((opinion(),), ("out-of-distribution",)), ("hazard: out-of-distribution",)),
        (Reading(), ("neutral",)),
        (Reading((opinion(polarity="neutral", confidence=1.0),)), ("neutral",)),
        (Reading((opinion(lesson_id="les-9"),)), ("neutral",)),
        (Reading((opinion(evidence="words nobody said"),)), ("neutral",)),
        (Reading((opinion(confidence=0.849),)), ("below-threshold: negative 0.85 < 0.85",)),
        (
            Reading((opinion(polarity="positive", confidence=0.74),)),
            ("below-threshold: positive 0.74 < 0.75",),
        ),
    ],
)
def test_the_reasons_against_a_reading_are_reported(
    reading: Reading, reasons: tuple[str, ...]
) -> None:
    assert best_opinion(HEARD, reading, LIMITS) == (None, reasons)


@pytest.mark.parametrize(("polarity", "least"), [("positive", 0.75), ("negative", 0.85)])
def test_a_confidence_at_the_threshold_is_enough(polarity: str, least: float) -> None:
    good = opinion(polarity=polarity, confidence=least)
    assert best_opinion(HEARD, Reading((good,)), LIMITS) == (good, ())


@pytest.mark.parametrize("hazard", ["hyperbole", "low-confidence", "privacy-concern"])
def test_minor_hazards_do_not_block_a_signal(hazard: str) -> None:
    reading = msgspec.convert({"opinions": [], "hazards": [hazard]}, Reading)
    good = opinion()
    assert best_opinion(HEARD, msgspec.structs.replace(reading, opinions=(good,)), LIMITS) == (
        good,
        (),
    )


def test_the_most_confident_opinion_wins() -> None:
    faint, clear = opinion(confidence=0.86), opinion(lesson_id="les-2", confidence=0.99)
    assert best_opinion(HEARD, Reading((faint, clear)), LIMITS)[0] == clear


def test_classifier_and_attribution_must_mean_the_same_lesson() -> None:
    other = score_opinion(opinion(), Attribution("les-2", 0.95, "mention"))
    assert other == ScoredTurn(reasons=("attribution-differs: les-2 is not les-1",))
    assert score_opinion(opinion(), None) == ScoredTurn(reasons=("unattributed",))


def test_a_signal_has_the_lower_confidence_of_both() -> None:
    found = score_opinion(opinion(polarity="positive"), Attribution("les-1", 0.65, "only"))
    assert found == ScoredTurn((Signal("les-1", True, 0.65, "only"),))


# -- interrupts ------------------------------------------------------------------------------------


def interrupted(after_s: float, *lessons: str) -> UserTurn:
    turn = EarlierTurn("assistant", "working", NEW_YEAR, lessons)
    at = NEW_YEAR + timedelta(seconds=after_s)
    return UserTurn("t", "[Request interrupted by user]", at, SHOWN, (turn,))


@pytest.mark.parametrize("after_s", [0, 30])
def test_a_quick_interrupt_blames_the_lessons_of_the_turn(after_s: float) -> None:
    found = score_interrupt(interrupted(after_s, "les-2", "les-9"), LIMITS)
    assert found == ScoredTurn((Signal("les-2", False, 0.9, "interrupt"),))


@pytest.mark.parametrize("after_s", [-1, 30.1])
def test_a_late_interrupt_gives_no_signal(after_s: float) -> None:
    found = score_interrupt(interrupted(after_s, "les-1"), LIMITS)
    assert found == ScoredTurn(reasons=("unattributed",))


def test_an_interrupt_without_a_turn_gives_no_signal() -> None:
    assert score_interrupt(interrupted(1), LIMITS).reasons == ("unattributed",)
    nothing = UserTurn("t", "[Request interrupted by user]", NEW_YEAR, SHOWN)
    assert score_interrupt(nothing, LIMITS).reasons == ("unattributed",)


def test_an_interrupt_at_an_unknown_time_gives_no_signal() -> None:
    unknown = msgspec.structs.replace(interrupted(1, "les-1"), at=None)
    assert score_interrupt(unknown, LIMITS).reasons == ("unattributed",)


def test_an_interrupt_has_to_pass_the_threshold_too() -> None:
    strict = FeedbackSettings(negative_min=0.95)
    found = score_interrupt(interrupted(1, "les-1"), strict)
    assert found.reasons == ("below-threshold: negative 0.90 < 0.95",)


# -- hosts -----------------------------------------------------------------------------------------


def test_a_host_of_an_unsupported_version_is_ignored() -> None:
    told = msgspec.structs.replace(HEARD, host_version="3.0.1")
    assert unsupported_host_reasons(told, LIMITS) == ("untested-host-version: 3.0.1",)


@pytest.mark.parametrize("version", ["", "1.0.44", "2.1.205"])
def test_a_supported_host_or_one_without_a_version_is_accepted(version: str) -> None:
    assert (
        unsupported_host_reasons(msgspec.structs.replace(HEARD, host_version=version), LIMITS) == ()
    )
