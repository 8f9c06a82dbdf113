"""Which items share many words with a text.

Where the words stand is known for all passages, whoever may see them; the sieve decides about those
that share enough, before any of them is looked at.
"""

from collections.abc import Sequence
from math import log1p
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.log.record import moment
from everloop.memory.commands import RememberItem
from everloop.memory.noticing import COMPARED_MAX, Said, Telling, telling
from everloop.memory.postings import Postings, counted
from everloop.memory.roster import Roster
from everloop.memory.rows import Mask, Rows
from everloop.memory.scopes import Asker
from everloop.memory.shelf import Filter, Sieve

TOGETHER = 32  # items that are read at once, then twice as many

_SAID = """
i.position, i.item_id, v.title, v.text, i.author, i.happened_at, i.holds_until,
(SELECT json_group_array(w.principal) FROM memory_witnesses w WHERE w.position = v.position)
"""
_AMONG = "i.position IN (SELECT value FROM json_each(:wanted))"


class Places(NamedTuple):
    """Where terms stand, as one reader knows it."""

    reader: Reader
    roster: Roster
    head: int
    postings: Postings

    def sizes(self, terms: Sequence[str]) -> list[int]:
        """In how many rows each term stands."""
        return self.postings.sizes(self.reader, self.roster, self.head, terms)

    def together(self, terms: Sequence[str]) -> Rows:
        """The rows in which some terms stand, one term after the other."""
        return self.postings.together(self.reader, self.roster, self.head, terms)

    def within(self, terms: Sequence[str], among: "Among") -> list[int]:
        """In how many rows of a scope and kind each term stands."""
        return [len(among.only(self.together((term,)))) for term in terms]

    def holding(self, term: str, rows: Rows) -> Mask:
        """Which of some rows hold a term."""
        return self.postings.holding(self.reader, self.roster, self.head, term, rows)


class Among(NamedTuple):
    """A scope and a kind, as the roster numbers them."""

    roster: Roster
    scope: int
    kind: int

    def only(self, rows: Rows) -> Rows:
        """Those of some rows that are of this scope and kind."""
        rows = rows[self.roster.scope.all.take(rows) == self.scope]
        found: Rows = rows[self.roster.kind.all.take(rows) == self.kind]
        return found


def sharing(places: Places, who: Asker, new: RememberItem, terms: Sequence[str]) -> list[Said]:
    """The items of the same scope, kind and audience that share most words with something new."""
    roster = places.roster
    scopes, kinds = roster.scopes.known((new.scope,)), roster.kinds.known((new.kind,))
    if not scopes or not kinds or not terms:
        return []
    among = Among(roster, scopes[0], kinds[0])
    wanted = _wanted(places, terms, among)
    rows = _holding(wanted, places, among)
    if len(rows) > COMPARED_MAX:
        rows = rows.take(np.argsort(-_worth(rows, wanted, places), kind="stable"))
    items: list[int] = roster.item.all.take(rows).tolist()
    return _seen(places.reader, who, list(dict.fromkeys(items)), new) if items else []


def _wanted(places: Places, terms: Sequence[str], among: Among) -> Telling:
    """What tells what may be like a text with these terms.

    If some of the terms that should be looked up are too common for that, it counts how common they
    are where it matters: what stands elsewhere keeps nothing from being noticed.
    """
    sizes = dict(zip(terms, places.sizes(terms), strict=True))
    wanted = telling(terms, list(sizes.values()))
    if wanted.first < wanted.enough:
        first = wanted.terms[: wanted.enough]
        sizes |= zip(first, places.within(first, among), strict=True)
        wanted = telling(terms, list(sizes.values()))
    return wanted


def _holding(wanted: Telling, places: Places, among: Among) -> Rows:
    """The rows that hold enough of the terms, of those in which the first ones stand."""
    held = among.only(places.together(wanted.terms[: wanted.first]))
    held.sort(kind="stable")  # already nearly so
    rows, times = counted(held)
    others = wanted.terms[wanted.first :]
    for left, term in zip(range(len(others), 0, -1), others, strict=True):
        enough = times + left >= wanted.least
        rows, times = rows[enough], times[enough]
        if not len(rows):
            return rows
        times += places.holding(term, rows)
    return rows[times >= wanted.least]


def _worth(rows: Rows, wanted: Telling, places: Places) -> NDArray[np.float64]:
    """How much each row shares; rare terms count more."""
    points, size = np.zeros(len(rows)), len(places.roster)
    for term, held in zip(wanted.terms, places.sizes(wanted.terms), strict=True):
        points += log1p(size / (held + 1)) * places.holding(term, rows)
    return points


def _seen(reader: Reader, who: Asker, items: Sequence[int], new: RememberItem) -> list[Said]:
    """The best of these items that the asker may see, and whose audience is the same."""
    sieve = Sieve(who, Filter(scopes=(new.scope,), kinds=(new.kind,)))
    audience, found = set(new.witnesses), list[Said]()
    start, count = 0, TOGETHER
    while start < len(items) and len(found) < COMPARED_MAX:
        some = items[start : start + count]
        rows = sieve.rows(reader, _SAID, _AMONG, wanted=msgspec.json.encode(some).decode())
        known = {row[0]: row for row in rows}
        for item in some:
            if item not in known:
                continue
            _, item_id, title, text, author, happened, holds, witnesses = known[item]
            if set(msgspec.json.decode(witnesses)) == audience:
                until = moment(holds) if holds else None
                found.append(Said(item_id, title, text, author, moment(happened), until))
        start, count = start + count, 2 * count
    return found[:COMPARED_MAX]
