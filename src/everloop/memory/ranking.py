"""A ranking in the making: what the legs found, what was said around it, and what else counts."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.memory import when
from everloop.memory.fusion import (
    MEANING_WEIGHT,
    NAMED_BOOST,
    NEIGHBOUR_REACH,
    TIME_BOOST,
    WORDS_WEIGHT,
    Fused,
    Hit,
    Keys,
    Leg,
    Points,
    best_of,
    fuse,
)
from everloop.memory.legs import NOTHING, Found
from everloop.memory.passages import PASSAGES_MAX
from everloop.memory.roster import NONE, Mask, Roster, Rows, distinct
from everloop.memory.standing import UNSET, Standing

TOLD_WITHIN = timedelta(days=7)  # what happened then is often told a few days later
TIMELY_MAX = 200
SHARERS = 60  # the best finds of each leg share points with their neighbours
SIGNIFICANCE_BOOST = 0.05  # for each step from 0 to 3
PIVOTAL = 3  # pinned by itself
PIN_BOOST = 0.1
RECENCY_BOOST = 0.03
RECENCY_LEAST = 0.001
RECENCY_DAYS = 30.0
EXPIRED = -0.5
ORDERED_SHARE = 0.5  # "first" and "last" choose among hits with at least this share of the points

Boosts = dict[str, tuple[Keys, Points]]


class Ranking:
    """A ranking in the making, among the rows of a roster that an asker may see."""

    def __init__(self, roster: Roster, standing: Standing, allowed: Mask) -> None:
        self.roster = roster
        self.standing = standing
        self.allowed = allowed
        self.words: Found = NOTHING
        self.meaning: Found = NOTHING
        self.notes: list[str] = []
        self._fused: Fused | None = None
        self._places: Keys = NOTHING.rows

    def __len__(self) -> int:
        """How many items are ranked."""
        return len(self._places)

    def settle(self, text: str, hints: Sequence[when.TimeHint], now: datetime) -> None:
        """Bring what was found into an order."""
        near = self._neighbours()
        timely = self._timely(hints)
        rows = distinct(np.concatenate((self.words.rows, self.meaning.rows, near[1], timely)))
        legs = (
            Leg("words", WORDS_WEIGHT, self.words.rows, self.words.scores, floor=0.0),
            Leg("meaning", MEANING_WEIGHT, self.meaning.rows, self.meaning.scores),
        )
        fused = fuse(legs, neighbours=near, boosts=self._boosts(rows, text, hints, now))
        places = best_of(self.roster.item.all[fused.keys])
        self._fused, self._places = fused, places[fused.points[places] > 0]
        self._put_in_order(hints)

    def items(self, limit: int | None = None) -> list[int]:
        """The items by rank, each by the position at which it was taken in."""
        assert self._fused is not None
        found: list[int] = self.roster.item.all[self._fused.keys[self._places[:limit]]].tolist()
        return found

    def hit(self, place: int) -> Hit:
        """Why the item at a place is there."""
        assert self._fused is not None
        return self._fused.hit(int(self._places[place]))

    def similarity(self, leg: str, rank: int) -> float:
        """How near a leg found what it put at a rank, 0 to 1."""
        found = self.words if leg == "words" else self.meaning
        return float(found.similarity[rank - 1])

    def _neighbours(self) -> tuple[Keys, Keys]:
        """What was said right before and after the best finds: pairs of find and neighbour."""
        best = distinct(np.concatenate((self.words.rows[:SHARERS], self.meaning.rows[:SHARERS])))
        pairs: list[tuple[Rows, Rows]] = []
        for step in (self.roster.before, self.roster.after):
            givers, ends = best, best
            for _ in range(NEIGHBOUR_REACH):
                ends = step(ends, self.allowed)
                givers, ends = givers[ends != NONE], ends[ends != NONE]
                pairs.append((givers, ends))
        return np.concatenate([g for g, _ in pairs]), np.concatenate([t for _, t in pairs])

    def _timely(self, hints: Sequence[when.TimeHint]) -> Rows:
        """What happened in the time that a question names: a bounded number of items."""
        found: list[Rows] = [NOTHING.rows]
        size = len(self.allowed)
        happened = self.roster.happened.all[:size]
        for hint in hints:
            if hint.kind != "boost" or hint.start is None or hint.end is None:
                continue
            low = int(hint.start.timestamp() * 1e6)
            high = int((hint.end + TOLD_WITHIN).timestamp() * 1e6)
            rows = np.flatnonzero(self.allowed & (happened >= low) & (happened < high))
            rows = rows[self.roster.passage.all[rows] % PASSAGES_MAX == 0]
            found.append(rows[np.lexsort((rows, happened[rows]))][:TIMELY_MAX])
        return distinct(np.concatenate(found))

    def _boosts(
        self, rows: Rows, text: str, hints: Sequence[when.TimeHint], now: datetime
    ) -> Boosts:
        """What else counts: significance, pins, age, the time and the people that it names."""
        roster, standing = self.roster, self.standing
        now_us = now.timestamp() * 1e6
        happened, holds = roster.happened.all[rows], roster.holds_until.all[rows]
        rated, pinned = standing.rated[rows], standing.pinned[rows]
        pinned = np.where(pinned == UNSET, rated == PIVOTAL, pinned)
        days = np.maximum(0.0, now_us - happened) / 86_400e6
        recency = RECENCY_BOOST * np.exp(-days / RECENCY_DAYS)
        given: dict[str, NDArray[Any]] = {
            "significance": SIGNIFICANCE_BOOST * rated,
            "pinned": PIN_BOOST * pinned,
            "expired": EXPIRED * ((holds > 0) & (holds < now_us)),
            "recency": np.where(recency > RECENCY_LEAST, recency, 0.0),
            "time": TIME_BOOST * _fit(happened, hints),
            "named": NAMED_BOOST * self._named(rows, text),
        }
        chosen = {reason: np.flatnonzero(points) for reason, points in given.items()}
        return {reason: (rows[at], given[reason][at]) for reason, at in chosen.items() if len(at)}

    def _named(self, rows: Rows, text: str) -> Mask:
        """Whether a text names who speaks in each of the rows."""
        speakers = self.roster.speaker.all[rows]
        codes: list[int] = np.unique(speakers).tolist()
        names = {code: self.roster.speakers.names[code] for code in codes if code != NONE}
        named = [
            code
            for code, name in names.items()
            if re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE)
        ]
        return np.isin(speakers, named)

    def _put_in_order(self, hints: Iterable[when.TimeHint]) -> None:
        """If the question asks for the first or the last, the good ones come by time."""
        order = next((hint.order for hint in hints if hint.order), None)
        if order is None or not len(self) or self._fused is None:
            return
        points = self._fused.points[self._places]
        good = int(np.count_nonzero(points >= ORDERED_SHARE * points[0]))
        rows = self._fused.keys[self._places[:good]]
        by_time = np.lexsort((self.roster.item.all[rows], self.roster.happened.all[rows]))
        by_time = by_time[::-1] if order == "newest" else by_time
        self._places[:good] = self._places[:good][by_time]


def _fit(happened_us: NDArray[np.int64], hints: Iterable[when.TimeHint]) -> Points:
    """1 within a stretch that is named, a half shortly after it, else 0."""
    fit = np.zeros(len(happened_us))
    for hint in hints:
        if hint.kind != "boost" or not (hint.start or hint.end):
            continue
        begun = np.ones(len(fit), np.bool_)
        if hint.start:
            begun = happened_us / 1e6 >= hint.start.timestamp()
        within = shortly = begun
        if hint.end:
            within = begun & (happened_us / 1e6 < hint.end.timestamp())
            shortly = begun & (happened_us / 1e6 < (hint.end + TOLD_WITHIN).timestamp())
        fit = np.maximum(fit, np.where(within, 1.0, np.where(shortly, 0.5, 0.0)))
    return fit
