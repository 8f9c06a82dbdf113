"""Validation of a causal narrative: its lengths, and the evidence that its confidence needs."""

import re
from typing import Final

from everloop.errors import Invalid
from everloop.lessons.model.events import Narrative, QuoteEvidence

CONFIDENCES: Final = ("observed", "inferred", "speculative")
TRIGGER_MAX: Final = 140
FAILURE_MAX: Final = 200
CORRECTION_MAX: Final = 200
QUOTE_MAX: Final = 80
SPECULATIVE_PREFIX: Final = "Potential:"
# Words that say what might be. "could not" and "would not" say what was.
_SPECULATES: Final = re.compile(
    r"^\s*potential\b|\b(?:might|possibly|potentially|perhaps|presumably|hypothetically)\b"
    r"|\b(?:may|could|can|would)\s+(?:\w+ly\s+)?(?:be|become|break|cause|corrupt|crash|delete|fail"
    r"|get|go|happen|have|lead|lose|miss|occur|overwrite|result|time)\b",
    re.IGNORECASE,
)
_SENTENCES: Final = re.compile(r"[^.!?;]+")


def check_narrative(narrative: Narrative) -> None:
    """Check that a narrative is valid.

    Raises:
        Invalid: it is not; the message says why.
    """
    if fault := narrative_error(narrative):
        raise Invalid(fault, hint="Say trigger, failure and correction in a sentence each.")


def narrative_error(narrative: Narrative) -> str:
    """What is wrong with a narrative, as a sentence; empty if nothing is."""
    for name, text, most in (
        ("trigger", narrative.trigger, TRIGGER_MAX),
        ("failure_mode", narrative.failure_mode, FAILURE_MAX),
        ("correction", narrative.correction, CORRECTION_MAX),
    ):
        if not text.strip():
            return f"{name} is empty"
        if len(text) > most:
            return f"{name} has {len(text)} characters, and at most {most} are allowed"
    return _quote_fault(narrative) or _confidence_fault(narrative)


def _quote_fault(narrative: Narrative) -> str:
    quotes = [each.text for each in narrative.evidence if isinstance(each, QuoteEvidence)]
    if any(len(quote) > QUOTE_MAX for quote in quotes):
        return f"a quote has at most {QUOTE_MAX} characters"
    return "" if all(quote.strip() for quote in quotes) else "a quote is empty"


def _confidence_fault(narrative: Narrative) -> str:
    if narrative.confidence not in CONFIDENCES:
        return f"confidence {narrative.confidence!r} is none of {', '.join(CONFIDENCES)}"
    if narrative.confidence == "observed" and not narrative.evidence:
        return "what was observed needs evidence"
    if narrative.confidence == "observed" and _only_speculates(narrative.failure_mode):
        return (
            "failure_mode only says what might happen: say what was observed, or make confidence"
            ' "inferred" or "speculative"'
        )
    if narrative.confidence == "speculative" and not narrative.failure_mode.startswith(
        SPECULATIVE_PREFIX
    ):
        return f"a speculative failure_mode begins with {SPECULATIVE_PREFIX!r}"
    return ""


def _only_speculates(failure: str) -> bool:
    """Whether every sentence says what might happen, and none what did."""
    sentences = [one for one in _SENTENCES.findall(failure) if one.strip()]
    return bool(sentences) and all(_SPECULATES.search(one) for one in sentences)
