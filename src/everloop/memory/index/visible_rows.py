"""Visible rows: the passages that a visibility mask allows, with their conversation neighbours.

Search counts and ranks through this class only, so a hidden passage never influences a result: the
neighbour of a passage is the nearest *visible* one. In a small memory the neighbours of all rows
are computed once and cached. Does not know who asks or what a filter says: the mask is given.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.passage_table import PassageColumns
from everloop.memory.index.row_sets import NO_ROW, Mask, Rows, mask_rows

PRECOMPUTED_MAX = 10_000  # rows up to which the neighbours of all rows are computed at once
SAMPLED = 10_000  # rows from which the average length is estimated
NEIGHBOUR_STEPS = 2  # passages to either side that count as neighbours
LEAD_TERMS_MAX = 60  # a longer passage does not count for the one that follows it


class VisibleRows:
    """The rows of the passage table that a mask allows; rows added after the mask are hidden."""

    def __init__(
        self,
        table: PassageColumns,
        allowed: Mask,
        *,
        item_count: int = 0,
        split_items: bool = False,
    ) -> None:
        self.table, self.allowed = table, allowed
        self.item_count = item_count  # items the asker may see, before any filter
        self.size = len(allowed)  # above every allowed row
        self.split_items = split_items  # whether some item has several passages
        self.precomputed = self.size <= PRECOMPUTED_MAX

    def before(self, rows: Rows) -> Rows:
        """The last visible passage of the item that each row follows; row 0 if there is none."""
        if not self.precomputed:
            return self.table.before(rows, self.allowed)
        return self._before.take(rows)

    def lead(self, rows: Rows) -> Rows:
        """As `before`, but only where that passage is short; row 0 elsewhere.

        A short turn often holds the words that the next one answers to. A long message is about
        much that the next one is not about.
        """
        if not self.precomputed:
            return self._short(self.before(rows))
        return self._lead.take(rows)

    def after(self, rows: Rows) -> Rows:
        """The first visible passage that follows each row's item; row 0 if there is none."""
        if not self.precomputed:
            return self.table.after(rows, self.allowed)
        return self._after.take(rows)

    def neighbours(self, rows: Rows) -> Rows:
        """The passages around each row: one and two steps before it, then one and two after it."""
        if not self.precomputed:
            return np.concatenate(self._steps(rows))
        return self._neighbours.take(rows, axis=1).ravel()

    def followers(self, rows: Rows) -> Iterator[tuple[Rows, Rows]]:
        """All visible passages that these rows lead, each with the index of its row.

        Several passages hardly ever follow the same one, so the first followers of all rows are
        yielded together, then the second ones, and so on.
        """
        at = np.arange(len(rows))
        found = np.where(self._is_short(rows), self.table.next.all.take(rows), NO_ROW)
        while found.any():
            good = mask_rows(found, self.allowed).nonzero()[0]
            takers, givers = found.take(good), at.take(good)
            right = self.before(takers) == rows.take(givers)
            right &= takers != NO_ROW
            yield takers[right], givers[right]
            found = self.table.sibling.all.take(found)

    def lengths(self, rows: Rows) -> NDArray[np.float64]:
        """The length of each row in terms, including the passage that leads it."""
        if not self.precomputed:
            return self._compute_lengths(rows)
        return self._lengths.take(rows)

    @cached_property
    def mean_length(self) -> float:
        """The average length of the visible rows, each including the one that leads it.

        Estimated from a sample where there are very many.
        """
        rows = self.allowed[:-1].nonzero()[0][1:]
        lengths = self.lengths(rows[:: len(rows) // SAMPLED + 1])
        return max(1.0, float(lengths.mean())) if len(lengths) else 1.0

    @cached_property
    def rows(self) -> Rows:
        """All row numbers, visible or not."""
        return np.arange(self.size)

    def _compute_lengths(self, rows: Rows) -> NDArray[np.float64]:
        lengths: NDArray[np.int32] = self.table.length.all
        both = lengths.take(rows) + lengths.take(self.lead(rows))
        return both.astype(np.float64)

    def _is_short(self, rows: Rows) -> Mask:
        short: Mask = self.table.length.all.take(rows) <= LEAD_TERMS_MAX
        return short

    def _short(self, rows: Rows) -> Rows:
        return np.where(self._is_short(rows), rows, NO_ROW)

    def _steps(self, rows: Rows) -> list[Rows]:
        steps: list[Rows] = []
        for step in (self.before, self.after):
            reached = rows
            for _ in range(NEIGHBOUR_STEPS):
                reached = step(reached)
                steps.append(reached)
        return steps

    @cached_property
    def _neighbours(self) -> Rows:
        return np.stack(self._steps(np.arange(self.size - 1)))

    @cached_property
    def _lengths(self) -> NDArray[np.float64]:
        return self._compute_lengths(np.arange(self.size - 1))

    @cached_property
    def _before(self) -> Rows:
        return self.table.before(np.arange(self.size - 1), self.allowed)

    @cached_property
    def _lead(self) -> Rows:
        return self._short(self._before)

    @cached_property
    def _after(self) -> Rows:
        return self.table.after(np.arange(self.size - 1), self.allowed)
