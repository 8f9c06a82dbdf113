"""Segments of a prompt, and which of them are left out when there is no room for all. Pure.

A segment says what it was made from, so that anyone can check that its speaker may know it. The
stable part comes first, so that services can cache it; what changes with every turn comes last.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final

import msgspec

from everloop.errors import Invalid

LINE_SHARE: Final = 8  # a line that is cut may have this part of the hard limit
CUT: Final = " […] "
COUNT_HINT: Final = "Raise `worlds.context_hard`, or shorten the character's sheet."


class Tier(IntEnum):
    """How much a segment matters: what must be there, what should, and what is left out first."""

    MUST = 0
    SHOULD = 1
    NICE = 2


class Segment(msgspec.Struct, frozen=True):
    """A piece of a prompt. Of two in a tier, the one with the higher `drop` is left out first."""

    kind: str
    text: str
    tier: Tier
    positions: tuple[int, ...] = ()
    reason: str = ""
    drop: int = 0
    tokens: int = 0
    speaker: str = ""

    @property
    def group(self) -> tuple[Tier, int, str]:
        """Segments of one group are left out together."""
        return (self.tier, self.drop, self.kind)


class DroppedSegment(msgspec.Struct, frozen=True):
    """A segment that was left out, and why."""

    segment: Segment
    why: str


class FittedSegments(msgspec.Struct, frozen=True):
    """The segments of a prompt that fits, and those that were left out."""

    kept: tuple[Segment, ...]
    dropped: tuple[DroppedSegment, ...]
    tokens: int


def fit(
    segments: Sequence[Segment], soft: int, hard: int, count: Callable[[str], int]
) -> FittedSegments:
    """Leave out what matters least until the rest fits. What must be there may use the hard limit.

    Where it does not fit, long lines of the dialogue are cut in their middle.

    Raises:
        Invalid: what must be there does not fit, even so.
    """
    counted = [msgspec.structs.replace(one, tokens=count(one.text)) for one in segments]
    if sum(one.tokens for one in counted if one.tier is Tier.MUST) > hard:
        counted = [_cut(one, hard // LINE_SHARE, count) for one in counted]
    total = sum(one.tokens for one in counted)
    dropped: dict[int, DroppedSegment] = {}
    for group in sorted({one.group for one in counted}, reverse=True):
        if total <= soft or group[0] is Tier.MUST:
            break
        why = f"no room: {total:,} of {soft:,} tokens"
        for at, segment in enumerate(counted):
            if segment.group == group:
                dropped[at] = DroppedSegment(segment, why)
                total -= segment.tokens
    if total > hard:
        raise Invalid(
            f"the prompt needs {total:,} tokens, and {hard:,} are allowed", hint=COUNT_HINT
        )
    kept = tuple(one for at, one in enumerate(counted) if at not in dropped)
    return FittedSegments(kept, tuple(dropped[at] for at in sorted(dropped)), total)


def _cut(segment: Segment, most: int, count: Callable[[str], int]) -> Segment:
    """A line of the dialogue without its middle, if it has more tokens than that."""
    if segment.kind != "dialogue" or segment.tokens <= most:
        return segment
    half = len(segment.text) * most // segment.tokens // 2
    text, tokens = segment.text, segment.tokens
    while tokens > most and half:
        text = f"{segment.text[:half]}{CUT}{segment.text[-half:]}"
        tokens, half = count(text), half * 9 // 10
    return msgspec.structs.replace(segment, text=text, tokens=tokens)
