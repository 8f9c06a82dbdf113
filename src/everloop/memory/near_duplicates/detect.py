"""Near-duplicate detection: which items a new one repeats, varies or contradicts.

Pure. Compares a new item with candidates for the same audience that share many of its words, both
recorded ones and earlier ones of the same batch.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from everloop.memory.model.commands import RememberItem
from everloop.memory.model.decide import DURABLE, derive_title
from everloop.memory.model.scopes import acts_as_user
from everloop.memory.text.analysis import ALTERNATIVE, parse_question
from everloop.memory.text.passages import split_passages
from everloop.memory.text.similarity import compare_texts

Relations = list[tuple[str, str, float]]  # item id, relation, and similarity from 0 to 1

SHARED = 0.4  # share of a text's words that a near duplicate has, without numbers and stop words
COMPARED_MAX = 8  # items that a new one is compared with
APART = timedelta(days=1)  # items further apart in time are not the same event


class AudienceKey(NamedTuple):
    """Audience and kind of an item: only items with an equal one are compared."""

    scope: str
    kind: str
    witnesses: tuple[str, ...]

    @classmethod
    def of_item(cls, new: RememberItem) -> "AudienceKey":
        """The audience of a new item."""
        return cls(new.scope, new.kind, tuple(sorted(set(new.witnesses))))


def comparison_terms(text: str) -> tuple[str, ...]:
    """The terms by which a text is compared; of a long text, those of its first passage."""
    asked = parse_question("".join(split_passages(text)[:1])).terms
    return tuple(dict.fromkeys(term.split(ALTERNATIVE)[0] for term in asked))


class NewItem(NamedTuple):
    """An item to remember, with the terms of its text, so that retries do not analyse it again.

    What was made from other items is like them, and has no terms here: it is compared with nothing.
    """

    command: RememberItem
    terms: tuple[str, ...]

    @classmethod
    def of(cls, command: RememberItem) -> "NewItem":
        """Analyse the text of a command."""
        return cls(command, () if command.derived_from else comparison_terms(command.text))


def shared_terms_min(terms: Sequence[str]) -> int:
    """How many of its terms a text must share with a near duplicate, at least.

    Numbers do not count: they say little about what a text is about.
    """
    return max(1, ceil(SHARED * sum(not term[0].isdigit() for term in terms)))


class ComparedItem(NamedTuple):
    """An item that a new one is compared with: recorded, or earlier in the same batch."""

    item_id: str
    title: str
    text: str
    author: str
    happened_at: datetime | None
    holds_until: datetime | None

    @classmethod
    def from_batch(cls, other: RememberItem, author: str, now: datetime) -> "ComparedItem":
        """An earlier item of the same batch, as it will be recorded."""
        happened = _parse_time(other.happened_at) if other.happened_at else now
        holds = _parse_time(other.durability)
        return cls(other.item_id, other.title, other.text, author, happened, holds)

    def titled_as(self, new: RememberItem) -> bool:
        """Whether the titles allow that both are about the same thing, unlike two short answers."""
        if not new.title or self.title in {"", derive_title(self.text)}:
            return True
        return compare_texts(new.title, self.title)[0] in {"repeats", "varies"}

    def may_stand_for(self, new: RememberItem, author: str) -> bool:
        """Whether a new item that repeats this one need not be recorded.

        A user's words are always recorded: an item of another author, which others may change,
        never replaces them.
        """
        theirs = acts_as_user(author) and not acts_as_user(self.author)
        return not theirs and self.of_one_time(new)

    def of_one_time(self, new: RememberItem) -> bool:
        """Whether both have the same validity and happened at the same time.

        A new item without a time is true at any time, so it matches whenever this one happened.
        """
        if new.durability != DURABLE and not _is_close(
            self.holds_until, _parse_time(new.durability)
        ):
            return False
        return not new.happened_at or _is_close(self.happened_at, _parse_time(new.happened_at))


def find_relations(
    new: RememberItem, author: str, near: Iterable[ComparedItem], now: datetime
) -> Relations:
    """What a new item repeats, varies or contradicts among items not expired, nearest first."""
    valid = [said for said in near if said.holds_until is None or said.holds_until > now]
    found = [(said, *compare_texts(new.text, said.text)) for said in valid if said.titled_as(new)]
    related = [
        (said.item_id, how, similarity)
        for said, how, similarity in found
        if how in {"contradicts", "varies"}
        or (how == "repeats" and said.may_stand_for(new, author))
    ]
    return sorted(related, key=lambda entry: (-entry[2], entry[0]))


def _is_close(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= APART


def _parse_time(text: str) -> datetime | None:
    """A time parsed from text; None if it is not one, which the decider rejects later."""
    with suppress(ValueError):
        at = datetime.fromisoformat(text)
        return at if at.tzinfo else None
    return None
