"""Limits of a prompt for a model whose context window is smaller than the settings assume. Pure."""

import msgspec

from everloop.thread.settings import ContextLimits, HistoryLimits

ANSWER_SHARE = 4  # at most one part in so many is left free for the answer
CERTAIN = 0.9  # tokens are estimated, and an estimate may be a tenth too low
LEAST = 1_000


def limits_within(limits: ContextLimits, window: int, answer_tokens: int) -> ContextLimits:
    """The limits, lowered to what fits into a window with room for the answer; 0: not known."""
    if not window:
        return limits
    free = window - min(answer_tokens, window // ANSWER_SHARE)
    hard = max(LEAST, int(free * CERTAIN))
    if hard >= limits.hard:
        return limits
    return msgspec.structs.replace(
        limits,
        hard=hard,
        soft=min(limits.soft, hard * 9 // 10),
        dialogue=min(limits.dialogue, hard // 3),
        parts=min(limits.parts, hard // 20),
        recalled=min(limits.recalled, hard // 10),
        instructions=min(limits.instructions, hard // 10),
        lessons=min(limits.lessons, hard // 12),
        notes=min(limits.notes, hard // 16),
        files=min(limits.files, hard // 5),
        pictures=min(limits.pictures, hard // (8 * limits.picture)),
        past=_past_within(limits.past, hard // 20),
    )


def _past_within(past: HistoryLimits, most: int) -> HistoryLimits:
    return HistoryLimits(
        day=min(past.day, most),
        week=min(past.week, most),
        month=min(past.month, most),
        year=min(past.year, most),
        decade=min(past.decade, most),
    )
