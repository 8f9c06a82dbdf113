"""Ranking of one search: fuses keyword and semantic hits, neighbours and boosts into one order.

What was told counts in full; a question, small talk, boilerplate and what a model said count less,
unless the query is about them. Boosts are small: significance, pins, recency, the time and the
speaker that a question names; standing instructions and preferences where a query asks for advice.
Works on visible rows only.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.row_sets import NO_ROW, Mask, Rows, contained, distinct_rows
from everloop.memory.index.search_view import SearchView
from everloop.memory.index.visibility_mask import UNSET, Visibility
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
from everloop.memory.retrieval.intent import QueryIntent, intent_of
from everloop.memory.retrieval.relevance_threshold import barred, fit_of, passing
from everloop.memory.retrieval.results import RankExplanation, SearchQuery
from everloop.memory.retrieval.retrievers import NO_HITS, RetrieverHits
from everloop.memory.text.analysis import detect_question_languages
from everloop.memory.text.speech_acts import SPEECH_ACTS
from everloop.memory.time_query import parse
from everloop.memory.time_query.topic import asks_only_for_time

TOLD_WITHIN = timedelta(days=7)  # an event is often told of a few days later
TIMELY_MAX = 200
SHARERS = 60  # best hits of each retriever that share points with their neighbours
SIGNIFICANCE_BOOST = 0.05  # for each step from 0 to 3
PIN_BOOST = 0.1
RECENCY_BOOST = 0.03
RECENCY_LEAST = 0.001
RECENCY_US = 30 * 86_400e6
EXPIRED = -0.5
TOLD_BOOST = 0.4  # of what was told, if a query names nothing but a time; less than half of a time
FEW_ITEMS = 30  # with fewer items in memory, the floor is lower, down to half
NEAR_SHARE = 0.4  # of the floor: turns around a passage that fits so well are its context
ORDERED_SHARE = 0.5  # "first" and "last" choose among hits with at least this share of the points

ACT_WEIGHTS = {"question": 0.3, "small talk": 0.1, "boilerplate": 0.1}  # of messages
ANSWERED_WEIGHT = 0.7  # of what a model said
SIGNIFICANT = 2  # from this rating on, a message counts in full, whatever the rules say
STANDING_BOOSTS = {"instruction": (0.6, 0.5), "preference": (0.3, 0.2)}  # the best ones, by rank
INSTRUCTIONS_MAX = 200  # of each sort that are compared, the newest first

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
        self.lacking = False  # whether some vectors are missing
        self.passed = 0  # how many items passed the floor: the first ones
        self._fused: FusedRanking | None = None
        self._places: Keys = NO_HITS.rows

    def __len__(self) -> int:
        """How many items are ranked."""
        return len(self._places)

    def rank(
        self, asked: SearchQuery, hints: Sequence[parse.TimeHint], now: datetime, floor: float
    ) -> None:
        """Rank the hits of all retrievers: first what passed the floor, then the rest."""
        text, words, meaning = asked.text, self.keyword_hits, self.semantic_hits
        near, intent = self._neighbours(), intent_of(text)
        found = [words.rows, meaning.rows]
        if asked.min_similarity <= 0:  # else only what is similar enough by itself
            found += [near[1], *self._rows_in_time(hints)]
        rows = distinct_rows(self.view.size, *found)
        if asked.min_similarity > 0:
            near = near[0], np.where(np.isin(near[1], rows), near[1], NO_ROW)
        said = self._said(rows)
        weights, boosts = (
            self._weights(rows, said, intent),
            self._boosts(rows, text, hints, now),
        )
        topic = not _only_names_a_time(text, hints)
        if not topic:  # then what was told comes first
            boosts.pop("standing", None)
            boosts["told"] = TOLD_BOOST * np.prod([np.ones(len(rows)), *weights.values()], axis=0)
        fused = fuse(rows, self._legs(topic=topic), neighbours=near, boosts=boosts, weights=weights)
        self._fused, self._places = fused, np.arange(len(fused))
        out = barred(self.table.act.all.take(rows), said, intent)
        good = self._passing(rows, out, asked, hints, floor).take(fused.indices(self._places))
        self._places = np.concatenate((self._places[good], self._places[~good]))
        self.passed = int(np.count_nonzero(good))
        if "standing" in boosts and self.passed:
            self._answer_first(boosts["standing"])
        if self.view.split_items:  # of several passages of an item, only the best one counts
            best = best_per_group(self.table.item.all.take(fused.keys(self._places)))
            self._places, self.passed = (
                self._places[best],
                int(np.count_nonzero(best < self.passed)),
            )
        if hints:
            self._sort_by_time(hints)

    def _legs(self, *, topic: bool) -> Sequence[RankedList]:
        """The hits of both retrievers; they bring no points if the query has no topic."""
        words, meaning, share = self.keyword_hits, self.semantic_hits, float(topic)
        return (
            RankedList(
                "words", share * KEYWORD_WEIGHT, words.rows, words.scores, words.similarity, 0.0
            ),
            RankedList(
                "meaning",
                share * SEMANTIC_WEIGHT,
                meaning.rows,
                meaning.scores,
                meaning.similarity,
                meaning.floor,
            ),
        )

    def _answer_first(self, standing: Points) -> None:
        """Put what fits best by itself before standing instructions, which only shape an answer."""
        assert self._fused is not None
        passed = self._places[: self.passed]
        own = self._fused.points(passed) - standing.take(self._fused.indices(passed))
        best = int(own.argmax())
        passed[: best + 1] = np.roll(passed[: best + 1], 1)

    def _passing(
        self,
        rows: Rows,
        out: Mask,
        asked: SearchQuery,
        hints: Sequence[parse.TimeHint],
        floor: float,
    ) -> Mask:
        """Which rows are hits, but for those that are `out`.

        A query for nothing but a time has no topic to fit.
        """
        dated = any(hint.kind == "filter" for hint in hints)
        if asked.weak or dated or (hints and asks_only_for_time(asked.text, hints)):
            return ~out
        if not len(self.semantic_hits.rows) and asked.mode != "semantic":
            return ~out  # words alone: what matches none of them was not found at all
        foreign = bool(detect_question_languages(asked.text))
        words, meaning = self.keyword_hits, self.semantic_hits
        floor *= 0.5 + 0.5 * min(1.0, self.visibility.item_count / FEW_ITEMS)  # of few, all matter
        fit = fit_of(rows, words, meaning, foreign=foreign, partial=self.lacking)
        strong = rows[fit >= NEAR_SHARE * floor]
        near = contained(rows, self.view.neighbours(strong))
        return passing(fit, out, floor, near)

    def _said(self, rows: Rows) -> Mask:
        """Which rows are messages that nobody rated as significant."""
        table = self.table
        said: Mask = table.kind.all.take(rows) == table.kinds.existing_code("message")
        if self.visibility.has_marks:
            said &= self.visibility.rated.take(rows) < SIGNIFICANT
        return said

    def items(self, first: int = 0, last: int | None = None) -> list[int]:
        """The items of these ranks, each by the position at which it was recorded."""
        assert self._fused is not None
        rows = self._fused.keys(self._places[first:last])
        found: list[int] = self.table.item.all.take(rows).tolist()
        return found

    def explain(self, first: int, last: int) -> list[RankExplanation]:
        """Explanations of the ranks from `first` to `last`."""
        assert self._fused is not None
        return self._fused.explain(self._places[first:last], first + 1)

    def standing_rows(self, sort: str) -> Rows:
        """The newest standing instructions or preferences of the user."""
        return self.view.told_rows(SPEECH_ACTS.index(sort))[-INSTRUCTIONS_MAX:]

    def _weights(self, rows: Rows, said: Mask, intent: QueryIntent) -> dict[str, Points]:
        """What multiplies the points of rows: less for what is hardly ever searched for."""
        table, weights = self.table, dict[str, Points]()
        act = table.act.all.take(rows) * said  # 0 is a statement
        for name, weight in ACT_WEIGHTS.items() if act.any() else ():
            found = act == SPEECH_ACTS.index(name)
            if found.any() and not (name == "question" and intent.about_questions):
                weights[name] = np.where(found, weight, 1.0)
                said = said & ~found
        answered = said & table.answered.all.take(rows)
        if answered.any() and not (intent.about_answers or intent.one_word):
            weights["answered"] = np.where(answered, ANSWERED_WEIGHT, 1.0)
        return weights

    def _standing_boost(self, rows: Rows, intent: QueryIntent) -> Points:
        """A boost for the instructions and preferences that are nearest to a query for advice."""
        boost = np.zeros(len(rows))
        if not len(self.standing_rows("instruction")) and not intent.advice:
            return boost
        hits = self.semantic_hits if len(self.semantic_hits.rows) else self.keyword_hits
        for sort, steps in STANDING_BOOSTS.items():
            if sort == "preference" and not intent.advice:
                continue
            standing = hits.rows[np.isin(hits.rows, self.standing_rows(sort))]
            for row, step in zip(standing.tolist(), steps, strict=False):
                boost += step * (rows == row)
        return boost

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
        if (standing_boost := self._standing_boost(rows, intent_of(text))).any():
            boosts["standing"] = standing_boost
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
        points = self._fused.points(self._places[: self.passed or None])
        good = int(np.count_nonzero(points >= ORDERED_SHARE * points[0]))
        rows = self._fused.keys(self._places[:good])
        way = -1 if order == "newest" else 1
        table, summary = self.table, self.table.kinds.existing_codes((SUMMARY,))
        summed_up = np.isin(table.kind.all[rows], summary)
        said = (way * table.item.all[rows], way * table.happened.all[rows], summed_up)
        by_time = np.lexsort(said)
        self._places[:good] = self._places[:good][by_time]


def _only_names_a_time(text: str, hints: Sequence[parse.TimeHint]) -> bool:
    """Whether a query asks for all that was said at a time: "what did we discuss last week"."""
    filtered = any(hint.kind == "filter" for hint in hints)
    ordered = any(hint.order for hint in hints)
    return filtered and not ordered and asks_only_for_time(text, hints)


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
