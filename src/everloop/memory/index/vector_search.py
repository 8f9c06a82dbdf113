"""Nearest-neighbour search in a vector index, among the vectors that the asker may see.

A small index is searched exactly. A large one is searched by sign quantisation first (one bit per
dimension, relative to the mean of the vectors): the first words of the signs leave one vector in
twelve, all of them leave the candidates, and only those are compared exactly.
"""

import numpy as np

from everloop.memory.index.quantisation import (
    Floats,
    QueryVector,
    from_bfloat16,
    hamming_distances,
    largest_indices,
    sign_bits,
    smallest_indices,
)
from everloop.memory.index.row_sets import NO_ROW, Rows
from everloop.memory.index.search_view import SearchView, VectorArrays, VisibleVectors

PER_HIT, AMONG = 8, 200  # candidates: so many for a hit, and at least one in so many vectors
PER_WORD = 20  # candidates for a hit, divided by the words of signs: few words say little
COARSE, COARSE_MAX = 3, 3  # one word of signs in so many is compared first, at most so many words
KEPT, KEPT_PER = 12, 4  # one in so many passes those, and at least so many for each candidate
NARROW = 8  # if fewer than one in so many are visible, only those are compared
DIGITS = 6  # of a cosine that count
BLOCK = 1_024  # vectors multiplied at once; more would not stay in the processor's cache
SAMPLED = 500  # vectors from which the background is estimated
PRIOR_COUNT = 5  # as if so many more vectors were there, with the usual cosine
BEFORE_WEIGHT = 0.5  # of the passage before
NO_DOTS: Floats = np.empty(0, np.float32)


class VectorQuery:
    """One query in a vector index, on the arrays as they were when it began."""

    def __init__(self, arrays: VectorArrays, query: Floats, usual: float = 0.0) -> None:
        self._arrays, self._query = arrays, query
        self._usual = usual  # the cosine that unrelated texts usually have in this model
        self._all: Floats | None = None  # the products with all vectors, where that is cheap

    def nearest(self, count: int, view: SearchView) -> Rows:
        """The rows of the nearest visible passages, in no order."""
        arrays, visible = self._arrays, view.vectors(self._arrays.rows)
        exact, size = not len(arrays.middle), len(arrays.rows)
        if exact and len(visible.places) > size // NARROW:
            self._all = arrays.vectors[:size] @ self._query
        if len(visible.places) <= count:
            return visible.rows
        if exact:
            return visible.rows.take(largest_indices(self._dots(visible.places), count))
        each = max(PER_HIT, PER_WORD // len(arrays.signs))
        places = self._candidates(visible, max(count * each, len(visible.places) // AMONG))
        return arrays.rows.take(places.take(largest_indices(self._dots(places), count)))

    def cosines(self, rows: Rows, view: SearchView) -> tuple[Rows, Floats, Floats]:
        """Those of the rows that have a vector, and their cosine similarities.

        First those of each vector mixed with that of the passage that leads it, if there is one;
        then those of each vector by itself.
        """
        arrays = self._arrays
        at = arrays.places.take(rows)
        if len(arrays.rows) < len(arrays.places):  # else every row has a vector
            there = at != NO_ROW
            rows, at = rows[there], at[there]
        earlier, norms = view.vectors_before(arrays, rows, at)
        dots = self._dots(np.concatenate((earlier, at)))
        cosines, alone = dots[: len(at)], dots[len(at) :]
        cosines *= BEFORE_WEIGHT
        cosines += alone
        cosines /= norms
        # A product's last bits depend on how many vectors there are, and an answer must not.
        return rows, np.round(cosines, DIGITS, out=cosines), np.round(alone, DIGITS, out=alone)

    def background(self, view: SearchView) -> float:
        """The mean cosine of all visible vectors with the query, from a sample of them.

        Texts of one language, and all texts of one model, have much in common: only what is nearer
        than that says anything. Among few vectors, what is usual in the model counts too.
        """
        visible = view.vectors(self._arrays.rows)
        if visible.sample is None:
            places = visible.places[:: len(visible.places) // SAMPLED + 1]
            whole = from_bfloat16(self._arrays.vectors.take(places, axis=0))
            visible.sample = whole.sum(axis=0, dtype=np.float64), len(places)
        total, count = visible.sample
        dots = round(float(total @ self._query), DIGITS)
        return (dots + PRIOR_COUNT * self._usual) / (count + PRIOR_COUNT)

    def _candidates(self, visible: VisibleVectors, wanted: int) -> Rows:
        """The visible places whose signs differ least from the query's."""
        places, signs = visible.places, self._arrays.signs
        if len(places) <= wanted:
            return places
        asked = sign_bits(self._query[None, :], self._arrays.middle)[:, 0]
        first = min(max(1, len(signs) // COARSE), COARSE_MAX)
        kept = min(len(places), max(len(places) // KEPT, KEPT_PER * wanted))
        if len(places) < len(visible.hidden) // 2:  # a narrow filter: compare only those
            distance = hamming_distances(signs[:first].take(places, axis=1), asked[:first])
            near = smallest_indices(distance, kept)
            places = places.take(near)
        else:
            distance = hamming_distances(signs[:first, : len(visible.hidden)], asked[:first])
            distance |= visible.hidden
            places = near = smallest_indices(distance, kept)
        rough = hamming_distances(
            signs[first:].take(places, axis=1), asked[first:]
        ) + distance.take(near)
        return places.take(smallest_indices(rough, wanted))

    def _dots(self, places: Rows) -> Floats:
        if self._all is not None:
            return self._all.take(places)
        parts = (places[at : at + BLOCK] for at in range(0, len(places), BLOCK))
        query, vectors = QueryVector(self._query), self._arrays.vectors
        return np.concatenate([NO_DOTS, *(query.dot_products(vectors, part) for part in parts)])
