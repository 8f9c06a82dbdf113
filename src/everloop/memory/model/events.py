"""What can happen to a memory. One kind of item for every use of Everloop."""

from typing import Any, ClassVar

import msgspec

from everloop.log import Event, event, upcast


class Origin(msgspec.Struct, frozen=True):
    """Where an item came from. Never a full path, never a transcript."""

    host: str = ""
    session: str = ""
    model: str = ""
    folder: str = ""


@event("memory.remembered", schema=2)
class Remembered(Event, frozen=True):
    """An item was taken in.

    `witnesses` names who may know it; if it is empty, everyone whom the scope admits may.
    `follows` is the item said right before it; `happened_at` is empty if that is when it was
    recorded; `durability` is `durable` or the time until which it holds. `session` is the door's
    name of the run it came from, empty if unknown; `origin` is what the speaker says of that.
    """

    item_id: str
    title: str
    text: str
    kind: str
    scope: str
    witnesses: tuple[str, ...]
    origin: Origin
    learned_via: str
    durability: str
    happened_at: str
    follows: str
    derived_from: tuple[str, ...]
    session: str


@upcast("memory.remembered", from_schema=1)
def _without_session(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "session": ""}


@event("memory.revised")
class Revised(Event, frozen=True):
    """An item's words, scope or witnesses were changed; this is all of them, as they are now.

    What was derived from what it said before is stale, and gone until it is made again.
    """

    supersedes: ClassVar[bool] = True

    item_id: str
    title: str
    text: str
    scope: str
    witnesses: tuple[str, ...]


@event("memory.repeated")
class Repeated(Event, frozen=True):
    """The same thing was said again, near enough. It was linked to the item, not stored anew."""

    item_id: str
    text: str
    similarity: float
    origin: Origin


PIVOTAL = 3  # of significance: such an item is pinned by itself
SUMMARY = "summary"  # the kind of what stands for others


@event("memory.rated")
class Rated(Event, frozen=True):
    """How much an item matters: 0 routine, 1 notable, 2 significant, 3 pivotal."""

    item_id: str
    significance: int


@event("memory.pinned")
class Pinned(Event, frozen=True):
    """Someone wants the item always at hand."""

    item_id: str


@event("memory.unpinned")
class Unpinned(Event, frozen=True):
    """The pin was taken off, or an automatic one was declined."""

    item_id: str


@event("memory.pin_gave_way")
class PinGaveWay(Event, frozen=True):
    """An automatic pin gave way to a newer one: its audience had as many as are kept.

    It stands with the newer one, and on both: without that rating, the pin is there again. So it is
    when the item is rated pivotal anew.
    """

    lasting: ClassVar[bool] = True

    item_id: str
    to: str


@event("memory.cited")
class Cited(Event, frozen=True):
    """Something stands on the item. If a user wrote it, the item is immune to clean-up."""

    lasting: ClassVar[bool] = True

    item_id: str
    citer: str
    by_user: bool


@event("memory.citation_closed")
class CitationClosed(Event, frozen=True):
    """What stood on the item was retired, or no longer stands on it."""

    lasting: ClassVar[bool] = True

    item_id: str
    citer: str


@event("memory.related")
class Related(Event, frozen=True):
    """Two items belong side by side: one contradicts the other, or nearly repeats it."""

    item_id: str
    other_id: str
    relation: str


@event("memory.retired")
class Retired(Event, frozen=True):
    """The item stepped back: recall passes over it, and it can still be opened by its id."""

    item_id: str
    reason: str


@event("memory.demoted")
class Demoted(Event, frozen=True):
    """The item stepped back in favour of a summary of it. It stays one zoom away."""

    item_id: str
    in_favour_of: str


@event("memory.compression_refused")
class CompressionRefused(Event, frozen=True):
    """Nobody could say these items in fewer words. They are not tried again until one changes."""

    item_ids: tuple[str, ...]
    reason: str


@event("memory.consolidation_asked")
class ConsolidationAsked(Event, frozen=True):
    """These items are to step back for one summary of them. Until that is settled, it is to do.

    `in_the_name_of` says for each of them who lets it; an empty name leaves it where it is.
    """

    item_ids: tuple[str, ...]
    in_the_name_of: tuple[str, ...]
    budget: int
    recall_k: int


@event("memory.consolidation_settled")
class ConsolidationSettled(Event, frozen=True):
    """All stepped back that may, or none, as the summary was not found; or none was written.

    What spoke against one of them is not asked again.
    """

    summary_id: str
    verified: bool


class LedgerEntry(msgspec.Struct, frozen=True):
    """One piece of a prompt: what it is, what it cost, where it came from, and why it is not in."""

    key: str
    tokens: int
    positions: tuple[int, ...]
    left_out: str


class LedgerSection(msgspec.Struct, frozen=True):
    """One section of a prompt. `tokens` is what it took; `tokens_max` is 0 if it had no limit."""

    name: str
    tier: str
    tokens: int
    tokens_max: int
    entries: tuple[LedgerEntry, ...]


class Ledger(msgspec.Struct, frozen=True):
    """What a prompt was made of. It holds no words: those are at the positions it names."""

    principal: str
    tokens: int
    soft: int
    hard: int
    counted_by: str
    exact: bool
    sections: tuple[LedgerSection, ...]


@event("memory.context_assembled")
class ContextAssembled(Event, frozen=True):
    """A prompt was put together."""

    context_id: str
    ledger: Ledger


@event("memory.audience_granted")
class AudienceGranted(Event, frozen=True):
    """A principal may ask, within these scopes: exact ones, `project:*`, or `*`."""

    principal: str
    scopes: tuple[str, ...]


@event("memory.audience_revoked")
class AudienceRevoked(Event, frozen=True):
    """A principal may no longer ask."""

    principal: str


MemoryEvent = (
    Remembered
    | Revised
    | Repeated
    | Rated
    | Pinned
    | Unpinned
    | PinGaveWay
    | Cited
    | CitationClosed
    | Related
    | Retired
    | Demoted
)
