"""What can happen when a user's words are weighed. What a model said of them is in the fact."""

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
    """What the words say of one lesson. `evidence` is a verbatim piece of them."""

    lesson_id: str
    polarity: Literal["positive", "negative", "neutral"]
    confidence: Annotated[float, Meta(ge=0.0, le=1.0)]
    evidence: Annotated[str, Meta(max_length=80)] = ""
    hazards: tuple[Hazard, ...] = ()


class Reading(msgspec.Struct, frozen=True):
    """What a classifier made of a turn. It may abstain."""

    opinions: tuple[Opinion, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    abstain: bool = False


class Signal(msgspec.Struct, frozen=True):
    """Feedback that was heard. `told_by` says how it was known which lesson is meant."""

    lesson_id: str
    helpful: bool
    confidence: float
    told_by: str  # mention, pronoun, only, judge or interrupt


@event("lessons.turn_weighed")
class TurnWeighed(Event, frozen=True):
    """A turn that may hold feedback was weighed. The words stay with the host; we keep a digest.

    `reading` is empty and `model` is "" if no model was asked.
    """

    session: str
    turn_id: str
    text_digest: str
    reading: Reading
    model: str
    signals: tuple[Signal, ...]
