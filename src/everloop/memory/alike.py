"""Whether two texts say the same thing, or nearly the same and yet something else.

Pure, and careful: only what is near enough to be the same in other words counts as a repetition;
what differs in a number, a date, a name in the same place, or in a "not" is set side by side.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from everloop.memory.commands import RememberItem
from everloop.memory.words import analyse, question

REPEATS = 0.9  # shared pairs of words that make one text a repetition of another
TOPIC = 0.5  # shared words, numbers and "not" aside, that make two texts about the same thing
WORDS_MIN = 3
NEAR_MAX = 8  # of a batch, that something new is compared with
SAID_KEPT = 64  # texts that are not analysed again

Likeness = Literal["repeats", "contradicts", "differs"]

_NUMBER = re.compile(r"\d[\d.,:/-]*\d|\d")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|without)\b|n['\u2019]t\b", re.IGNORECASE
)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w'-]+")
_LEAD = re.compile(
    r"^\W*(?:(?:please|just|also|and)\W+)*"
    r"(?:(?:remember|note|fyi|btw|by the way|for the record|do(?:n['\u2019]t| not) forget)\b"
    r"(?:\W+that\b)?\W*)?",
    re.IGNORECASE,
)


def likeness(one: str, other: str) -> tuple[Likeness, float]:
    """How a text relates to another, and how much they share, 0 to 1."""
    a, b = _said(one), _said(other)
    shared = max(_overlap(a.pairs, b.pairs), _overlap(a.gist, b.gist))
    about = _overlap(a.topic, b.topic)
    if shared < REPEATS and about < TOPIC:  # as most do, whatever else they hold
        return "differs", shared
    if _marks(one) == _marks(other):
        return ("repeats" if shared >= REPEATS else "differs"), shared
    same_topic = about >= TOPIC and min(a.length, b.length) >= WORDS_MIN
    return ("contradicts" if same_topic else "differs"), max(shared, about if same_topic else 0.0)


class _Said(NamedTuple):
    """A text as it is compared."""

    length: int
    pairs: set[tuple[str, ...]]
    gist: set[tuple[str, ...]]  # the same without what is only its dress
    topic: set[tuple[str, ...]]


@lru_cache(maxsize=SAID_KEPT)
def _said(text: str) -> _Said:
    """Kept for a while, because one text is compared with several."""
    words, plain = analyse(text).words, _LEAD.sub("", text)
    said = words if plain == text else analyse(plain).words
    bare = [word for word in said if word not in _BARE]
    gist = _pairs(bare) if len(bare) >= WORDS_MIN else set[tuple[str, ...]]()
    return _Said(len(words), _pairs(words), gist, _topic(words))


class Batch:
    """What was said earlier in a batch, found by the words that it shares with something new."""

    def __init__(self) -> None:
        self._said: list[RememberItem] = []
        self._holding: dict[str, list[int]] = {}

    def add(self, new: RememberItem) -> None:
        """Take something in."""
        for term in question(new.text).terms:
            self._holding.setdefault(term, []).append(len(self._said))
        self._said.append(new)

    def near(self, new: RememberItem) -> list[tuple[str, str]]:
        """The ids and texts of those, of the same scope and audience, that share most words."""
        held = (self._holding.get(term, ()) for term in question(new.text).terms)
        shared = Counter(place for places in held for place in places)
        best = (self._said[place] for place, _ in shared.most_common(NEAR_MAX))
        return [(other.item_id, other.text) for other in best if _for(other) == _for(new)]


def _for(new: RememberItem) -> tuple[str, str, set[str]]:
    return new.scope, new.kind, set(new.witnesses)


def _marks(text: str) -> tuple[tuple[str, ...], bool, tuple[str, ...]]:
    """What makes two texts on one topic say different things."""
    text = _LEAD.sub("", text)
    return (
        tuple(sorted(_NUMBER.findall(text))),
        bool(len(_NEGATION.findall(text)) % 2),
        tuple(sorted(name.casefold() for name in _NAME.findall(text))),
    )


def _pairs(words: Sequence[str]) -> set[tuple[str, ...]]:
    if len(words) < WORDS_MIN:
        return {tuple(words)}
    return set(pairwise(words)) | {(words[0],), (words[-1],)}


def _topic(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {(word,) for word in words if not word[0].isdigit() and word not in _PLAIN}


def _overlap(a: set[tuple[str, ...]], b: set[tuple[str, ...]]) -> float:
    return len(a & b) / len(a | b) if a and b else 0.0


_BARE = frozenset(("a", "an", "the", "is", "are", "am", "m", "re", "that", "to", "of"))
_PLAIN = frozenset(("not", "no", "never", "t", "is", "are", "was", "the", "a", "an", "to", "of"))
