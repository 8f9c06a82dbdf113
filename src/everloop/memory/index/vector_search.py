"""One question in a space of vectors: what is nearest, among what the asker may see.

A small space is measured whole. In a large one the signs come first, one bit per dimension, taken
from the middle of what is there: the first words of them leave one vector in twelve, all of them
leave the candidates, and only those are measured.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.quantisation import Floats, Query, differing, largest, signs_of, smallest
from everloop.memory.index.row_sets import NONE, Rows, passing
from everloop.memory.index.search_view import Outlook

PER_HIT, AMONG = 8, 200  # candidates: so many for a hit, and at least one in so many
PER_WORD = 20  # and for a hit so many, shared among the words of signs: few words say little
COARSE, COARSE_MAX = 3, 3  # one word of signs in so many is looked at first, at most so many words
KEPT, KEPT_PER = 12, 4  # one in so many passes those, and at least so many for each candidate
NARROW = 8  # if fewer than one in so many are allowed, only those are measured
DIGITS = 6  # of a cosine that count
BLOCK = 1_024  # vectors measured at once; more would not stay in the processor's cache
BEFORE_WEIGHT = 0.5  # of the passage said before
NO_DOTS: Floats = np.empty(0, np.float32)
HIDDEN = 255  # further away than any sign says

Norms = Callable[[Rows, Rows, NDArray[Any]], Floats]


class Held(NamedTuple):
    """What a space holds. Each place is a vector; the first stands for a lacking one."""

    rows: Rows  # of the roster, by place
    places: Rows  # by row of the roster
    vectors: NDArray[Any]
    signs: NDArray[np.uint64]  # a row for each word; none where all is measured
    middle: Floats  # which the signs are taken from
    mixed: Norms  # how long vectors are, each mixed with an earlier one


@dataclass(slots=True)
class Seen:
    """Which places an outlook lets through. Kept with it, as long as the space is the same."""

    space: Rows  # the rows it was made from
    places: Rows
    rows: Rows  # of these places
    hidden: NDArray[np.uint8]  # by place, HIDDEN where it is not one of them
    mixing: tuple[Rows, Floats] | None = None  # by row: the place said before, how long both are


class Look:
    """One question in the space, as the space stood when it was asked."""

    def __init__(self, held: Held, query: Floats) -> None:
        self._held, self._query = held, query
        self._all: Floats | None = None  # the products with all of them, if that is soon done

    def nearest(self, count: int, outlook: Outlook) -> Rows:
        """The rows of the nearest passages among those allowed, in no order."""
        held, seen = self._held, self._seen(outlook)
        exact, size = not len(held.middle), len(held.rows)
        if exact and len(seen.places) > size // NARROW:
            self._all = held.vectors[:size] @ self._query
        if len(seen.places) <= count:
            return seen.rows
        if exact:
            return seen.rows.take(largest(self._dots(seen.places), count))
        each = max(PER_HIT, PER_WORD // len(held.signs))
        places = self._candidates(seen, max(count * each, len(seen.places) // AMONG))
        return held.rows.take(places.take(largest(self._dots(places), count)))

    def cosines(self, rows: Rows, outlook: Outlook) -> tuple[Rows, Floats]:
        """Those of the rows that have a vector, and their cosines.

        Each is mixed with the vector of what was said before it, if there is one.
        """
        held = self._held
        at = held.places.take(rows)
        if len(held.rows) < len(held.places):  # else none lacks one
            there = at != NONE
            rows, at = rows[there], at[there]
        earlier, norms = self._mixing(rows, at, outlook)
        dots = self._dots(np.concatenate((earlier, at)))
        cosines = dots[: len(at)]
        cosines *= BEFORE_WEIGHT
        cosines += dots[len(at) :]
        cosines /= norms
        # A product's last bits depend on how many vectors there are, and an answer must not.
        return rows, np.round(cosines, DIGITS, out=cosines)

    def _mixing(self, rows: Rows, at: Rows, outlook: Outlook) -> tuple[Rows, Floats]:
        """The places of what was said before some rows, which are at some places; how long both."""
        if not outlook.linked:
            return self._mixed(rows, at, outlook)
        seen = self._seen(outlook)
        if seen.mixing is None:  # for all rows at once
            every = np.arange(outlook.size - 1)
            seen.mixing = self._mixed(every, self._held.places.take(every), outlook)
        earlier, norms = seen.mixing
        return earlier.take(rows), norms.take(rows)

    def _mixed(self, rows: Rows, at: Rows, outlook: Outlook) -> tuple[Rows, Floats]:
        earlier = self._held.places.take(outlook.before(rows))
        return earlier, self._held.mixed(at, earlier, self._held.vectors)

    def _seen(self, outlook: Outlook) -> Seen:
        """The places that an outlook lets through."""
        known: Seen | None = outlook.seen
        held = self._held
        if known is None or known.space is not held.rows:
            good = passing(held.rows, outlook.allowed)
            good[NONE] = False
            places: Rows = good.nonzero()[0]
            hidden = np.where(good, np.uint8(0), np.uint8(HIDDEN))
            outlook.seen = known = Seen(held.rows, places, held.rows.take(places), hidden)
        return known

    def _candidates(self, seen: Seen, wanted: int) -> Rows:
        """Those of the places whose signs differ least from the query's."""
        places, signs = seen.places, self._held.signs
        if len(places) <= wanted:
            return places
        asked = signs_of(self._query[None, :], self._held.middle)[:, 0]
        first = min(max(1, len(signs) // COARSE), COARSE_MAX)
        kept = min(len(places), max(len(places) // KEPT, KEPT_PER * wanted))
        if len(places) < len(seen.hidden) // 2:  # a narrow filter: only those are looked at
            distance = differing(signs[:first].take(places, axis=1), asked[:first])
            near = smallest(distance, kept)
            places = places.take(near)
        else:
            distance = differing(signs[:first, : len(seen.hidden)], asked[:first])
            distance |= seen.hidden
            places = near = smallest(distance, kept)
        rough = differing(signs[first:].take(places, axis=1), asked[first:]) + distance.take(near)
        return places.take(smallest(rough, wanted))

    def _dots(self, places: Rows) -> Floats:
        if self._all is not None:
            return self._all.take(places)
        parts = (places[at : at + BLOCK] for at in range(0, len(places), BLOCK))
        query, vectors = Query(self._query), self._held.vectors
        return np.concatenate([NO_DOTS, *(query.times(vectors, part) for part in parts)])
