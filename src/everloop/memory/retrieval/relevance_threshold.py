"""The floor: which of the ranked passages fit a query well enough to be an answer.

A passage fits by what it says itself: how much nearer its vector is to the query than everything
else is on average (0: as near as the average, 1: the same text), and the share of the query's words
that it has, names not counted where nothing else matches. Boosts, neighbours, pins and dates order
what passed; they lift nothing over the floor. Where nothing reaches the floor, nothing is a hit.

Pure arithmetic. How the numbers were chosen, and what they cost: docs/recall.md.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.row_sets import Mask, Rows, contained, spread
from everloop.memory.retrieval.intent import QueryIntent
from everloop.memory.retrieval.retrievers import RetrieverHits
from everloop.memory.text.speech_acts import SPEECH_ACTS

WORDS_SHARE: Final = 0.5  # of the words' part, next to meaning
WORDS_ALONE: Final = 10.0  # where vectors are missing, nearly any word will do
MEANING_ALONE: Final = 1.1  # without words
FOREIGN_SHARE: Final = 0.75  # of meaning, where the query is not in English
RELATED_SHARE: Final = 0.5  # of the floor: enough for the others, once one hit has reached it

Fits = NDArray[np.float64]


def fit_of(
    rows: Rows, words: RetrieverHits, meaning: RetrieverHits, *, foreign: bool, partial: bool
) -> Fits:
    """How well each row fits by itself; `rows` are in order and contain all hits.

    `foreign`: the query is in another language than English. `partial`: some vectors are missing,
    so that a row that only words found may have none.
    """
    topical = spread(rows, words.rows, words.fit, 0.0)
    near: Fits = spread(rows, meaning.rows, meaning.fit, meaning.fit_elsewhere)
    near *= FOREIGN_SHARE if foreign else 1.0
    if not len(words.rows):
        return near * MEANING_ALONE
    fit: Fits = near + WORDS_SHARE * topical
    if partial:
        unknown = ~contained(rows, meaning.rows)
        fit[unknown] = WORDS_ALONE * spread(rows, words.rows, words.similarity, 0.0)[unknown]
    return fit


def passing(fit: Fits, barred: Mask, floor: float, near: Mask) -> Mask:
    """Which rows are hits: none unless one of them reaches the floor."""
    reached: Mask = (fit >= floor) & ~barred
    if not reached.any():
        return reached
    return ((fit >= RELATED_SHARE * floor) | near) & ~barred


def barred(act: NDArray[Any], said: Mask, intent: QueryIntent) -> Mask:
    """Which messages are no answer, whatever they match: questions, small talk, boilerplate."""
    if intent.small_talk:
        return said
    acts = ["boilerplate"]
    if intent.asks:
        acts.append("small talk")
        if not intent.about_questions:
            acts.append("question")
    found: Mask = said & np.array([name in acts for name in SPEECH_ACTS]).take(act)
    return found
