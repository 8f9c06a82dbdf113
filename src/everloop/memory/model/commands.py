"""What can be asked of a memory."""

from everloop.log import Command
from everloop.memory.model.events import Ledger, Origin


class RememberItem(Command, frozen=True):
    """Take an item in. `related` names others that it repeats or contradicts, and which of it."""

    item_id: str
    text: str
    title: str = ""
    kind: str = "fact"
    scope: str = "user"
    witnesses: tuple[str, ...] = ()
    origin: Origin = Origin()
    learned_via: str = "told"
    durability: str = "durable"
    happened_at: str = ""
    follows: str = ""
    derived_from: tuple[str, ...] = ()
    because: tuple[int, ...] = ()
    related: tuple[tuple[str, str], ...] = ()


class RememberCompared(RememberItem, frozen=True):
    """Take an item in, if it was compared with all that there is: nothing came after `upto`."""

    upto: int = 0


class KeepSummary(RememberItem, frozen=True):
    """Take in a summary of items, if they still are what it was made of and have no other."""


class RepeatItem(Command, frozen=True):
    """Note that an item was said again."""

    item_id: str
    text: str
    similarity: float
    origin: Origin = Origin()
    because: tuple[int, ...] = ()


class ReviseItem(Command, frozen=True):
    """Change an item's words, scope or witnesses; what is None stays.

    `base` is the version that the editor saw: it is refused if that is no longer the newest.
    """

    item_id: str
    title: str | None = None
    text: str | None = None
    scope: str | None = None
    witnesses: tuple[str, ...] | None = None
    base: int | None = None


class RateItem(Command, frozen=True):
    """Say how much an item matters, 0 to 3."""

    item_id: str
    significance: int


class PinItem(Command, frozen=True):
    """Keep an item always at hand."""

    item_id: str


class UnpinItem(Command, frozen=True):
    """Take the pin off."""

    item_id: str


class CiteItem(Command, frozen=True):
    """Note that something stands on an item. `because` says where that something was recorded."""

    item_id: str
    citer: str
    by_user: bool = False
    because: tuple[int, ...] = ()


class CloseCitation(Command, frozen=True):
    """Note that it no longer does."""

    item_id: str
    citer: str


class RelateItems(Command, frozen=True):
    """Put two items side by side: `contradicts` or `repeats`."""

    item_id: str
    other_id: str
    relation: str


class RetireItem(Command, frozen=True):
    """Let an item step back. `force` is a user's word against a user's citation."""

    item_id: str
    reason: str = ""
    force: bool = False


class DemoteItem(Command, frozen=True):
    """Let an item step back in favour of a summary of it."""

    item_id: str
    in_favour_of: str
    because: tuple[int, ...] = ()


class GrantAudience(Command, frozen=True):
    """Let a principal ask, within scopes."""

    principal: str
    scopes: tuple[str, ...]


class RevokeAudience(Command, frozen=True):
    """Let a principal ask no more."""

    principal: str


class KeepContext(Command, frozen=True):
    """Keep the ledger of a prompt."""

    context_id: str
    ledger: Ledger
    because: tuple[int, ...] = ()
