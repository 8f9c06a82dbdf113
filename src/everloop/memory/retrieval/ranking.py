"""Ranking of one search: fuses keyword and semantic hits, neighbours and boosts into one order.

Boosts are small: significance, pins, recency, the time and the speaker that a question names. Works
on visible rows only.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.row_sets import Rows, distinct_rows
from everloop.memory.index.search_view import SearchView
from everloop.memory.index.visibility import UNSET, Visibility
from everloop.memory.model.events import PIVOTAL, SUMMARY
from everloop.memory.retrieval.fusion import (
    KEYWORD_WEIGHT,
    SEMANTIC_WEIGHT,
    SPEAKER_BOOST,
    TIME_BOOST,
    FusedRanking,
    Keys,
    Points,
    RankedList,
    best_per_group,
    fuse,
)
from everloop.memory.retrieval.results import RankExplanation
from everloop.memory.retrieval.retrievers import NO_HITS, RetrieverHits
from everloop.memory.time_query import parse

TOLD_WITHIN = timedelta(days=7)  # an event is often told of a few days later
TIMELY_MAX = 200
SHARERS = 60  # best hits of each retriever that share points with their neighbours
SIGNIFICANCE_BOOST = 0.05  # for each step from 0 to 3
PIN_BOOST = 0.1
RECENCY_BOOST = 0.03
RECENCY_LEAST = 0.001
RECENCY_US = 30 * 86_400e6
EXPIRED = -0.5
ORDERED_SHARE = 0.5  # "first" and "last" choose among hits with at least this share of the points

Boosts = dict[str, NDArray[Any]]  # by reason, for each row


class Ranking:
    """The ranking of one search, among the rows that the asker may see."""

    def __init__(self, standing: Visibility, view: SearchView) -> None:
        self.table = standing.table
        self.visibility = standing
        self.view = view
        self.keyword_hits: RetrieverHits = NO_HITS
        self.semantic_hits: RetrieverHits = NO_HITS
        self.notes: list[str] = []
        self._fused: FusedRanking | None = None
        self._places: Keys = NO_HITS.rows

    def __len__(self) -> int:
        """How many items are ranked."""
        return len(self._places)

    def rank(self, text: str, hints: Sequence[parse.TimeHint], now: datetime) -> None:
        """Rank the hits of all retrievers."""
        near = self._neighbours()
        found = (
            self.keyword_hits.rows,
            self.semantic_hits.rows,
            near[1],
            *self._rows_in_time(hints),
        )
        rows = distinct_rows(self.view.size, *found)
        words, meaning = self.keyword_hits, self.semantic_hits
        legs = (
            RankedList(
                "words", KEYWORD_WEIGHT, words.rows, words.scores, words.similarity, floor=0.0
            ),
            RankedList(
                "meaning", SEMANTIC_WEIGHT, meaning.rows, meaning.scores, meaning.similarity
            ),
        )
        fused = fuse(rows, legs, neighbours=near, boosts=self._boosts(rows, text, hints, now))
        self._fused, self._places = fused, np.arange(len(fused))
        if self.view.split_items:  # of several passages of an item, only the best one counts
            self._places = best_per_group(self.table.item.all.take(fused.keys(self._places)))
        if hints:
            self._sort_by_time(hints)

    def items(self, limit: int | None = None) -> list[int]:
        """The items by rank, each by the position at which it was recorded."""
        assert self._fused is not None
        rows = self._fused.keys(self._places[:limit])
        found: list[int] = self.table.item.all.take(rows).tolist()
        return found

    def explain(self, first: int, last: int) -> list[RankExplanation]:
        """Explanations of the ranks from `first` to `last`."""
        assert self._fused is not None
        return self._fused.explain(self._places[first:last], first + 1)

    def _neighbours(self) -> tuple[Keys, Keys]:
        """The best hits, and the passages around each of them."""
        words, meaning = self.keyword_hits.rows[:SHARERS], self.semantic_hits.rows[:SHARERS]
        best = distinct_rows(self.view.size, words, meaning)
        return best, self.view.neighbours(best)

    def _rows_in_time(self, hints: Sequence[parse.TimeHint]) -> Iterable[Rows]:
        """Rows in the time that a question names: a bounded number of items for each hint.

        The time may be all that the question says: "what did we talk about yesterday". Of many, the
        significant ones come first. A time without an end counts only if it filters; then the
        nearest come first.
        """
        size = self.view.size - 1
        for hint in hints:
            opened = hint.start is None or hint.end is None
            if hint.start is hint.end is None or (opened and hint.kind != "filter"):
                continue
            happened = self.table.happened.all[:size]
            found = self.view.allowed[:size] & self.table.opens.all[:size]
            if hint.start is not None:
                found &= happened >= int(hint.start.timestamp() * 1e6)
            if hint.end is not None:
                found &= happened < int((hint.end + TOLD_WITHIN).timestamp() * 1e6)
            rows = np.flatnonzero(found)
            early = happened[rows] * (-1 if opened else 1)
            yield rows[np.lexsort((rows, early, -self.visibility.rated[rows]))][:TIMELY_MAX]

    def _boosts(
        self, rows: Rows, text: str, hints: Sequence[parse.TimeHint], now: datetime
    ) -> Boosts:
        """Boosts by reason: significance, pins, recency, and the time and speakers named."""
        table, standing = self.table, self.visibility
        now_us = now.timestamp() * 1e6
        happened = table.happened.all.take(rows)
        boosts: Boosts = {"recency": _recency_boost(happened, now_us)}
        if standing.has_marks:
            rated, pinned = standing.rated[rows], standing.pinned[rows]
            boosts["significance"] = SIGNIFICANCE_BOOST * rated
            boosts["pinned"] = PIN_BOOST * np.where(pinned == UNSET, rated == PIVOTAL, pinned > 0)
        if table.has_expiring and (holds := table.holds_until.all.take(rows)).any():
            boosts["expired"] = EXPIRED * ((holds > 0) & (holds < now_us))
        if hints:
            boosts["time"] = TIME_BOOST * _time_fit(happened, hints) + _nearness_boost(
                happened, hints
            )
        if named := table.mentioned_speakers(text):
            boosts["named"] = SPEAKER_BOOST * np.isin(table.speaker.all.take(rows), named)
        return boosts

    def _sort_by_time(self, hints: Iterable[parse.TimeHint]) -> None:
        """If the question asks for the first or the last, sort the good hits by time.

        A summary comes after them: its time is that of everything it covers, not of one statement.
        """
        order = next((hint.order for hint in hints if hint.order), None)
        if order is None or not len(self) or self._fused is None:
            return
        points = self._fused.points(self._places)
        good = int(np.count_nonzero(points >= ORDERED_SHARE * points[0]))
        rows = self._fused.keys(self._places[:good])
        way = -1 if order == "newest" else 1
        table, summary = self.table, self.table.kinds.existing_codes((SUMMARY,))
        summed_up = np.isin(table.kind.all[rows], summary)
        said = (way * table.item.all[rows], way * table.happened.all[rows], summed_up)
        by_time = np.lexsort(said)
        self._places[:good] = self._places[:good][by_time]


def _recency_boost(happened_us: NDArray[np.int64], now_us: float) -> Points:
    """A boost that decays with age, down to nothing."""
    recency = np.subtract(happened_us, now_us, dtype=np.float64)
    np.minimum(recency, 0.0, out=recency)
    recency /= RECENCY_US
    np.exp(recency, out=recency)
    recency *= RECENCY_BOOST
    recency *= recency > RECENCY_LEAST
    return recency


def _nearness_boost(happened_us: NDArray[np.int64], hints: Iterable[parse.TimeHint]) -> Points:
    """A small boost for items shortly before the end of a filter such as "before May"."""
    near = np.zeros(len(happened_us))
    for hint in hints:
        if hint.kind == "filter" and hint.start is None and hint.end is not None:
            before_us = np.maximum(hint.end.timestamp() * 1e6 - happened_us, 0.0)
            near = np.maximum(near, RECENCY_BOOST / (1.0 + before_us / RECENCY_US))
    return near


def _time_fit(happened_us: NDArray[np.int64], hints: Iterable[parse.TimeHint]) -> Points:
    """1 within an interval that is named, one half shortly after it, else 0."""
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
