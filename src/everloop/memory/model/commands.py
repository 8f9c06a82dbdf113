"""Commands of the memory domain."""

import msgspec

from everloop.log import Command
from everloop.memory.model.events import Ledger, Origin


class RememberItem(Command, frozen=True):
    """Store an item. `related` lists ids of items that it repeats or contradicts, with which."""

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
    """Store an item if no item of its scope and kind was recorded after position `upto`.

    Up to there it was compared with all others; see `MemoryService.remember`.
    """

    upto: int = 0


class KeepSummary(RememberItem, frozen=True):
    """Store a summary if its sources are unchanged and have no other current summary."""


class RepeatItem(Command, frozen=True):
    """Record a repetition of an item instead of storing a duplicate."""

    item_id: str
    text: str
    similarity: float
    origin: Origin = Origin()
    because: tuple[int, ...] = ()


class ReviseItem(Command, frozen=True):
    """Change an item's title, text, scope or witnesses; None leaves a field as it is.

    `base` is the version that the editor saw: a revision of an older version is refused.
    """

    item_id: str
    title: str | None = None
    text: str | None = None
    scope: str | None = None
    witnesses: tuple[str, ...] | None = None
    base: int | None = None


class RateItem(Command, frozen=True):
    """Rate the significance of an item, 0 to 3."""

    item_id: str
    significance: int


class PinItem(Command, frozen=True):
    """Pin an item."""

    item_id: str


class UnpinItem(Command, frozen=True):
    """Unpin an item, or decline its automatic pin."""

    item_id: str


class CiteItem(Command, frozen=True):
    """Open a citation link from `citer` to an item. `because` is where the citer was recorded."""

    item_id: str
    citer: str
    by_user: bool = False
    because: tuple[int, ...] = ()


class CloseCitation(Command, frozen=True):
    """Close a citation link."""

    item_id: str
    citer: str


class RelateItems(Command, frozen=True):
    """Relate two items: `contradicts` or `repeats`."""

    item_id: str
    other_id: str
    relation: str


class RetireItem(Command, frozen=True):
    """Retire an item. With `force`, the user retires it although something they wrote cites it."""

    item_id: str
    reason: str = ""
    force: bool = False


class DemoteItem(Command, frozen=True):
    """Demote an item in favour of a summary of it."""

    item_id: str
    in_favour_of: str
    because: tuple[int, ...] = ()


class GrantAudience(Command, frozen=True):
    """Allow a principal to read, within scopes."""

    principal: str
    scopes: tuple[str, ...]


class RevokeAudience(Command, frozen=True):
    """Withdraw a principal's permission to read."""

    principal: str


class PromptText(msgspec.Struct, frozen=True):
    """A text of a prompt, and the facts that are quoted in it."""

    name: str
    text: str
    because: tuple[int, ...] = ()


class KeepPromptTexts(Command, frozen=True):
    """Store the texts of a prompt that differ from those of the prompt before."""

    owner: str
    texts: tuple[PromptText, ...]


class KeepContext(Command, frozen=True):
    """Store the ledger of a prompt, with the positions of its texts."""

    context_id: str
    ledger: Ledger
    because: tuple[int, ...] = ()
    texts: dict[str, int] = msgspec.field(default_factory=dict)
