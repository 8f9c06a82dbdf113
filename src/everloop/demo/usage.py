"""Simulated model usage of the demo year: tokens, cost and duration of each call.

No model is called; token counts follow from text lengths, costs from list prices.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from everloop.demo.story import Exchange
from everloop.usage.commands import RecordModelCall

ANSWERS, TUTOR, SUMS_UP = "claude-sonnet-4-5", "llama3.2", "claude-haiku-4-5"
PER_MILLION = {ANSWERS: (3.0, 15.0), TUTOR: (0.0, 0.0), SUMS_UP: (1.0, 5.0)}
LETTERS = 4  # characters of a token, roughly
FRAME, PROMPT_MAX = 900, 9_000  # minimum prompt; maximum, thanks to the pyramid
SPEED = {ANSWERS: 70, TUTOR: 35, SUMS_UP: 140}  # tokens per second
_SUNDAY = 6


def simulated_calls(said: Sequence[Exchange]) -> Iterator[tuple[datetime, RecordModelCall]]:
    """Every call with its time: an answer for each question, a summary for each week."""
    letters = week = 0
    for one, after in pairwise([*said, None]):
        assert one is not None, "only the last has none after it"
        both = len(one.question) + len(one.answer)
        read = min(PROMPT_MAX, FRAME + (letters // 8 + len(one.question)) // LETTERS)
        model = TUTOR if one.thread == "spanish" else ANSWERS
        yield one.at, _call("answer", model, read, len(one.answer) // LETTERS)
        letters, week = letters + both, week + both
        if after is None or after.at.isocalendar()[:2] != one.at.isocalendar()[:2]:
            over = one.at + timedelta(days=_SUNDAY + 1 - one.at.weekday())
            at = one.at if after is None else min(over, after.at)  # never after the last message
            yield at, _call("summary", SUMS_UP, FRAME // 3 + week // LETTERS, 40 + week // 100)
            week = 0


def _call(purpose: str, model: str, read: int, written: int) -> RecordModelCall:
    price_in, price_out = PER_MILLION[model]
    cost = round((read * price_in + written * price_out) / 1_000_000, 6)
    return RecordModelCall(
        purpose, model, read, written, cost, round(0.6 + written / SPEED[model], 3)
    )
