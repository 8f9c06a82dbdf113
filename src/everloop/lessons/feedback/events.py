"""The event of a turn that was checked for feedback, with the model's answer in the fact.

Replaying the log never asks a model again.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from everloop.log import Event, event

Hazard = Literal[
    "sarcasm",
    "ambiguous-referent",
    "hyperbole",
    "low-confidence",
    "privacy-concern",
    "out-of-distribution",
    "self-directed",
]


class Opinion(msgspec.Struct, frozen=True):
    """What the message says about one lesson. `evidence` is a verbatim excerpt."""

    lesson_id: str
    polarity: Literal["positive", "negative", "neutral"]
    confidence: Annotated[float, Meta(ge=0.0, le=1.0)]
    evidence: Annotated[str, Meta(max_length=80)] = ""
    hazards: tuple[Hazard, ...] = ()


class Reading(msgspec.Struct, frozen=True):
    """A classifier's result for a turn. It may abstain."""

    opinions: tuple[Opinion, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    abstain: bool = False


class Signal(msgspec.Struct, frozen=True):
    """A feedback signal. `told_by` is the rule that attributed it to the lesson."""

    lesson_id: str
    helpful: bool
    confidence: float
    told_by: str  # mention, pronoun, only, judge or interrupt


@event("lessons.turn_weighed")
class TurnWeighed(Event, frozen=True):
    """A turn that may contain feedback was evaluated. Only a digest of its text is recorded.

    `reading` is empty and `model` is "" if no model was asked.
    """

    session: str
    turn_id: str
    text_digest: str
    reading: Reading
    model: str
    signals: tuple[Signal, ...]
