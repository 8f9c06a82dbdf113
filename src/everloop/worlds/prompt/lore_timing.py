"""When a lore entry counts: its probability, delay, sticky and cooldown, as its lorebook says them.

Chance comes from the ids of entry and message: the same story always has the same outcome, and a
prompt can be shown again as it was. Messages are counted in the open scene.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from everloop.worlds.model.story_events import LoreEntry

CERTAIN = 100
MOST = 10_000_000  # messages that a timing counts at most


class LoreTiming(msgspec.Struct, frozen=True):
    """`probability` in percent; the others in messages."""

    probability: int = CERTAIN
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0

    @property
    def lasts(self) -> bool:
        """Whether it matters when the entry was mentioned before."""
        return self.sticky > 0 or self.cooldown > 0


ALWAYS = LoreTiming()


def timing_of(entry: LoreEntry) -> LoreTiming:
    """The timing in the JSON that an entry was imported from."""
    return _timing(entry.source) if entry.source else ALWAYS


@lru_cache(maxsize=1_024)
def _timing(source: str) -> LoreTiming:
    try:
        raw = msgspec.json.decode(source, type=dict[str, Any])
    except msgspec.DecodeError:
        return ALWAYS
    extensions: Any = raw.get("extensions")
    told: dict[str, Any] = {**extensions, **raw} if isinstance(extensions, dict) else raw

    def number(key: str, otherwise: int) -> int:
        value: Any = told.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return otherwise
        return int(min(MOST, max(0, value)))

    used = told.get("useProbability", told.get("use_probability"))
    chance = CERTAIN if used is False else min(CERTAIN, number("probability", CERTAIN))
    return LoreTiming(chance, number("sticky", 0), number("cooldown", 0), number("delay", 0))


def happens(entry: LoreEntry, message_id: str, probability: int) -> bool:
    """Whether chance brings an entry in after a message; always the same for the same two."""
    if probability >= CERTAIN:
        return True
    drawn = hashlib.sha256(f"{entry.entry_id} {message_id}".encode()).digest()
    return int.from_bytes(drawn[:4]) * CERTAIN < probability << 32


def counts_now(timing: LoreTiming, messages: int, mentioned: Callable[[int], bool]) -> bool:
    """Whether an entry counts after the last of so many messages.

    `mentioned(n)` tells whether it was mentioned, and came in by chance, after message `n`. It then
    counts for `sticky` messages more, and afterwards cannot come in for `cooldown` messages.
    """
    if not timing.lasts:
        return mentioned(messages - 1)
    until = rests = -1  # the last message for which it counts, and the last of its rest
    for number in range(messages):
        if number > max(until, rests) and mentioned(number):
            until = number + timing.sticky
            rests = until + timing.cooldown
    return messages - 1 <= until
