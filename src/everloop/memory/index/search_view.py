"""What one question looks at: the rows of a roster that its asker may see and its filter leaves.

Whatever recall weighs goes through here: what was said before a passage or after it is the nearest
one that may be seen. A cache: in a small memory the neighbours of all rows are worked out once.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.passage_table import Roster
from everloop.memory.index.row_sets import NONE, Mask, Rows, passing
from everloop.memory.text.language import Languages

LINKED_MAX = 10_000  # rows whose neighbours are worked out for all at once
SAMPLED = 10_000  # rows that tell how long all are on average
REACH = 2  # steps to either side that count as around


class Outlook:
    """The rows of a roster that a mask lets through; those that came later are not."""

    def __init__(
        self, roster: Roster, allowed: Mask, *, items: int = 0, parted: bool = False
    ) -> None:
        self.roster, self.allowed = roster, allowed
        self.items = items  # how many the asker may see, whatever the filter leaves
        self.size = len(allowed)  # above every row that is allowed
        self.parted = parted  # whether some item is in several passages
        self.sizes: dict[str, int] = {}  # by term, how many rows hold it
        self.nearly: dict[str, Any] = {}  # by term that nothing holds, what `legs.py` takes it for
        self.languages: Languages | None = None  # besides English; not known until it is asked for
        self.kept: dict[str, Any] = {}  # by term, what `holdings.py` knows of it
        self.kept_rows = 0  # of these together, roughly
        self.seen: Any = None  # which vectors it lets through, as `looking.py` knows it
        self.linked = self.size <= LINKED_MAX

    def before(self, rows: Rows) -> Rows:
        """The last passage of what each row follows, if it is allowed; else none."""
        if not self.linked:
            return self.roster.before(rows, self.allowed)
        return self._before.take(rows)

    def after(self, rows: Rows) -> Rows:
        """The first passage that follows each row's item and is allowed; else none."""
        if not self.linked:
            return self.roster.after(rows, self.allowed)
        return self._after.take(rows)

    def around(self, rows: Rows) -> Rows:
        """What was said around each row: right before it, before that; right after, after that."""
        if not self.linked:
            return np.concatenate(self._steps(rows))
        return self._around.take(rows, axis=1).ravel()

    def followed(self, rows: Rows) -> Iterator[tuple[Rows, Rows]]:
        """All passages right before which one of these was said, each with where that stands here.

        Hardly ever do several passages follow the same one, so all first ones come together.
        """
        at = np.arange(len(rows))
        found = self.roster.next.all.take(rows)
        while found.any():
            good = passing(found, self.allowed).nonzero()[0]
            takers, givers = found.take(good), at.take(good)
            right = self.before(takers) == rows.take(givers)
            right &= takers != NONE
            yield takers[right], givers[right]
            found = self.roster.sibling.all.take(found)

    def lengths(self, rows: Rows) -> NDArray[np.float64]:
        """How long each row is together with what was said before it."""
        if not self.linked:
            return self._lengths_of(rows)
        return self._lengths.take(rows)

    def _lengths_of(self, rows: Rows) -> NDArray[np.float64]:
        lengths = self.roster.length.all
        both: NDArray[Any] = lengths.take(rows) + lengths.take(self.before(rows))
        return both.astype(np.float64)

    def _steps(self, rows: Rows) -> list[Rows]:
        steps: list[Rows] = []
        for step in (self.before, self.after):
            reached = rows
            for _ in range(REACH):
                reached = step(reached)
                steps.append(reached)
        return steps

    @cached_property
    def mean_length(self) -> float:
        """How long allowed rows are on average, each together with what was said before it.

        Of very many, some tell.
        """
        rows = self.allowed[:-1].nonzero()[0][1:]
        lengths = self.lengths(rows[:: len(rows) // SAMPLED + 1])
        return max(1.0, float(lengths.mean())) if len(lengths) else 1.0

    @cached_property
    def rows(self) -> Rows:
        """All rows, allowed or not."""
        return np.arange(self.size)

    @cached_property
    def _around(self) -> Rows:
        return np.stack(self._steps(np.arange(self.size - 1)))

    @cached_property
    def _lengths(self) -> NDArray[np.float64]:
        return self._lengths_of(np.arange(self.size - 1))

    @cached_property
    def _before(self) -> Rows:
        return self.roster.before(np.arange(self.size - 1), self.allowed)

    @cached_property
    def _after(self) -> Rows:
        return self.roster.after(np.arange(self.size - 1), self.allowed)
