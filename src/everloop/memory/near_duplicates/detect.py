"""What something new repeats, varies or contradicts: among what there is, and what came with it.

Only what is for the same audience and shares a good part of its words is compared with it.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from everloop.memory.model.commands import RememberItem
from everloop.memory.model.decide import DURABLE, title_of
from everloop.memory.model.scopes import written_by_user
from everloop.memory.text.analysis import EITHER, question
from everloop.memory.text.passages import passages
from everloop.memory.text.similarity import likeness

Alike = list[tuple[str, str, float]]  # the id of an item, how it relates, and how near it is

SHARED = 0.4  # of the words of a text, numbers and grammar aside: what is like it holds as many
COMPARED_MAX = 8  # texts that something new is compared with
APART = timedelta(days=1)  # what lies further apart in time is not the same event


class Audience(NamedTuple):
    """Who something is for, and of which kind it is: only what is for the same is compared."""

    scope: str
    kind: str
    witnesses: tuple[str, ...]

    @classmethod
    def of(cls, new: RememberItem) -> "Audience":
        """Who something new is for."""
        return cls(new.scope, new.kind, tuple(sorted(set(new.witnesses))))


def terms_of(text: str) -> tuple[str, ...]:
    """The terms of a text, or of the beginning of a long one, by which others are like it."""
    asked = question("".join(passages(text)[:1])).terms
    return tuple(dict.fromkeys(term.split(EITHER)[0] for term in asked))


def least_shared(terms: Sequence[str]) -> int:
    """How many of its terms a text shares with whatever may be like it.

    A number says little about what a text is like.
    """
    return max(1, ceil(SHARED * sum(not term[0].isdigit() for term in terms)))


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


def _close(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= APART


def _moment(text: str) -> datetime | None:
    """A time as it was given; none if it is not one, which the decision will say."""
    with suppress(ValueError):
        at = datetime.fromisoformat(text)
        return at if at.tzinfo else None
    return None
