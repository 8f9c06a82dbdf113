"""What something new repeats, varies or contradicts: among what there is, and what came with it.

Only what shares a good part of its words is compared with it. So whatever is like it holds some of
its rarest words, and only where those stand is looked at: that costs little in a large memory too.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import accumulate, chain
from math import ceil
from typing import NamedTuple

from everloop.memory.alike import likeness
from everloop.memory.commands import RememberItem
from everloop.memory.decide import DURABLE, title_of
from everloop.memory.passages import passages
from everloop.memory.scopes import written_by_user
from everloop.memory.words import EITHER, question

Alike = list[tuple[str, str, float]]  # the id of an item, how it relates, and how near it is

SHARED = 0.4  # of the words of a text, numbers and grammar aside: what is like it holds as many
PLACES_MAX = 20_000  # at which rare words are looked up
COMPARED_MAX = 8  # texts that something new is compared with
APART = timedelta(days=1)  # what lies further apart in time is not the same event


class Telling(NamedTuple):
    """What tells which texts may be like one: they hold so many of its terms, one of the first."""

    terms: tuple[str, ...]  # that stand somewhere: the rarest first, numbers last
    first: int
    enough: int  # as many first ones would miss nothing; fewer are looked at where they are common
    least: int


def terms_of(text: str) -> tuple[str, ...]:
    """The terms of a text, or of the beginning of a long one, by which others are like it."""
    asked = question("".join(passages(text)[:1])).terms
    return tuple(dict.fromkeys(term.split(EITHER)[0] for term in asked))


def telling(terms: Sequence[str], sizes: Sequence[int]) -> Telling:
    """What tells of a text with these terms, each of which stands in so many places.

    A number says little about what a text is like, and one that stands nowhere says nothing.
    """
    least = max(1, ceil(SHARED * sum(not _is_number(term) for term in terms)))
    both = zip(sizes, terms, strict=True)
    rarest = sorted((_is_number(term), size, term) for size, term in both if size)
    upto = accumulate(size for _, size, _ in rarest)
    few = sum(places <= PLACES_MAX for places in upto)
    enough = max(0, len(rarest) - least + 1)
    return Telling(tuple(term for *_, term in rarest), min(enough, max(1, few)), enough, least)


def _is_number(term: str) -> bool:
    return term[0].isdigit()


class Said(NamedTuple):
    """What something new is compared with: an item, or what came earlier in the same batch."""

    item_id: str
    title: str
    text: str
    author: str
    happened_at: datetime | None
    holds_until: datetime | None

    @classmethod
    def newly(cls, other: RememberItem, author: str, now: datetime) -> "Said":
        """Something that will be an item from now on."""
        happened = _moment(other.happened_at) if other.happened_at else now
        holds = _moment(other.durability)
        return cls(other.item_id, other.title, other.text, author, happened, holds)

    def titled_as(self, new: RememberItem) -> bool:
        """Whether no title says that it is about another thing, as of two short answers."""
        if not new.title or self.title in {"", title_of(self.text)}:
            return True
        return likeness(new.title, self.title)[0] in {"repeats", "varies"}

    def may_stand_for(self, new: RememberItem, author: str) -> bool:
        """Whether something new need not be kept beside it.

        What a user says is theirs: nobody else's item stands for it, which others may change.
        """
        theirs = written_by_user(author) and not written_by_user(self.author)
        return not theirs and self.of_one_time(new)

    def of_one_time(self, new: RememberItem) -> bool:
        """Whether it holds as long as something new does, and happened when that did.

        What comes without a time is simply true, whenever that was said before.
        """
        if new.durability != DURABLE and not _close(self.holds_until, _moment(new.durability)):
            return False
        return not new.happened_at or _close(self.happened_at, _moment(new.happened_at))


class Batch:
    """What was said earlier in a batch, found by the words that it shares with something new."""

    def __init__(self, author: str, now: datetime) -> None:
        self._author, self._now = author, now
        self._said: list[tuple[RememberItem, frozenset[str]]] = []
        self._holding: dict[str, list[int]] = {}

    def add(self, new: RememberItem, terms: Sequence[str]) -> None:
        """Take something in that has these terms."""
        for term in terms:
            self._holding.setdefault(term, []).append(len(self._said))
        self._said.append((new, frozenset(terms)))

    def near(self, new: RememberItem, terms: Sequence[str]) -> list[Said]:
        """Those for the same audience that share most words."""
        if not self._said:
            return []
        wanted = telling(terms, [len(self._holding.get(term, ())) for term in terms])
        first = (self._holding.get(term, ()) for term in wanted.terms[: wanted.first])
        shared = [
            (-len(own.intersection(terms)), place)
            for place in set(chain.from_iterable(first))
            for other, own in (self._said[place],)
            if _for(other) == _for(new)
        ]
        best = sorted(pair for pair in shared if -pair[0] >= wanted.least)[:COMPARED_MAX]
        return [Said.newly(self._said[place][0], self._author, self._now) for _, place in best]


def relations(new: RememberItem, author: str, near: Iterable[Said], now: datetime) -> Alike:
    """What something new repeats, varies or contradicts, of what still holds, nearest first."""
    holding = [said for said in near if said.holds_until is None or said.holds_until > now]
    found = [(said, *likeness(new.text, said.text)) for said in holding if said.titled_as(new)]
    related = [
        (said.item_id, how, similarity)
        for said, how, similarity in found
        if how in {"contradicts", "varies"}
        or (how == "repeats" and said.may_stand_for(new, author))
    ]
    return sorted(related, key=lambda entry: (-entry[2], entry[0]))


def _for(new: RememberItem) -> tuple[str, str, set[str]]:
    return new.scope, new.kind, set(new.witnesses)


def _close(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= APART


def _moment(text: str) -> datetime | None:
    """A time as it was given; none if it is not one, which the decision will say."""
    with suppress(ValueError):
        at = datetime.fromisoformat(text)
        return at if at.tzinfo else None
    return None
