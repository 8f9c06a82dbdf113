"""Summaries of the past in a prompt: each day before yesterday once, in less detail with age.

If the summaries of a tier exceed its budget, each is truncated to its share. So a long summary
loses sentences, but no window is ever left out.
"""

from collections.abc import Sequence
from datetime import date

from everloop.log import Reader
from everloop.memory.context import PromptPiece, PromptSection
from everloop.memory.context import Tier as Strength
from everloop.thread.model.calendar_windows import TIERS, CalendarWindow, Tier, pyramid_windows
from everloop.thread.pyramid.day_parts import DayPart
from everloop.thread.pyramid.summary_queries import item_texts, oldest_day, window_summaries
from everloop.thread.quoting import TOKENS, fair_share, quote, truncate_to_tokens
from everloop.thread.settings import HistoryLimits

FRAME = 8  # tokens of a window's key, its brackets and its line break
WindowTexts = list[tuple[CalendarWindow, int, str]]


def summary_sections(
    reader: Reader, thread_id: str, today: date, limits: HistoryLimits
) -> list[PromptSection]:
    """A prompt section for each tier, the oldest first."""
    oldest = oldest_day(reader, thread_id)
    windows = list(pyramid_windows(today, oldest)) if oldest else []
    known = window_summaries(reader, thread_id, [window.key for window in windows])
    found = item_texts(reader, [one.item_id for one in known.values() if one.item_id])
    said = [
        (window, *found[item])
        for window in reversed(windows)
        if (item := known[window.key].item_id if window.key in known else "") in found
    ]
    return [tier_section(tier, said, int(getattr(limits, tier))) for tier in reversed(TIERS)]


def tier_section(tier: Tier, said: WindowTexts, most: int) -> PromptSection:
    """The prompt section of one tier, with a piece for each window."""
    heading = f"## Earlier, {tier} by {tier}"
    mine = [one for one in said if one[0].tier == tier]
    room = most - TOKENS(heading) - FRAME
    pieces = tuple(
        PromptPiece(window.key, text, (position,), priority=number)
        for number, (window, position, text) in enumerate(_fit(mine, room))
    )
    strength: Strength = "should" if tier in ("day", "week") else "nice"
    return PromptSection(f"{tier}s", strength, pieces, heading=heading, tokens_max=most, stays=60)


def parts_section(parts: Sequence[DayPart], most: int) -> PromptSection:
    """The section of what exceeds the dialogue: a piece for each part of a long day."""
    heading = "## Earlier yesterday and today, summarised (zoom in by the name in brackets)"
    whole = [
        f"[{part.key}] ({len(part.message_ids)} messages) {quote(part.text)}" for part in parts
    ]
    room = most - TOKENS(heading) - FRAME
    share = fair_share([TOKENS(text) + FRAME for text in whole], room) - FRAME
    pieces = tuple(
        PromptPiece(
            part.key, truncate_to_tokens(text, max(1, share)), (part.position,), priority=number
        )
        for number, (part, text) in enumerate(zip(parts, whole, strict=True))
    )
    return PromptSection("parts", "should", pieces, heading=heading, tokens_max=most, stays=85)


def _fit(said: WindowTexts, room: int) -> Sequence[tuple[CalendarWindow, int, str]]:
    """The text of each window, truncated to its share."""
    whole = [(window, at, f"[{window.key}] {quote(text)}") for window, at, text in said]
    share = fair_share([TOKENS(text) + FRAME for _, _, text in whole], room) - FRAME
    return [(window, at, truncate_to_tokens(text, max(1, share))) for window, at, text in whole]
