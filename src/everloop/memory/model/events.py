"""Events of the memory domain: one kind of item serves every use of Everloop."""

from typing import Any, ClassVar

import msgspec

from everloop.log import Event, event, upcast

BUILT_IN_MODEL = "offline"  # it only quotes, so what it says is nothing new


class Origin(msgspec.Struct, frozen=True):
    """Where an item came from. Never a full path, never a transcript."""

    host: str = ""
    session: str = ""
    model: str = ""
    folder: str = ""


@event("memory.remembered", schema=2)
class Remembered(Event, frozen=True):
    """An item was stored.

    `witnesses` restricts who may see it; if empty, every principal with its scope may. `follows` is
    the item said right before it; `happened_at` is empty if that equals the time of recording;
    `durability` is `durable` or the time until which it is valid. `session` is the run it came
    from, as identified by the door, empty if unknown; `origin` is what the author claims about it.
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
    """An item's title, text, scope or witnesses were changed; each field has its new value.

    Anything derived from the previous version is stale and hidden until it is derived again.
    """

    supersedes: ClassVar[bool] = True

    item_id: str
    title: str
    text: str
    scope: str
    witnesses: tuple[str, ...]


@event("memory.repeated")
class Repeated(Event, frozen=True):
    """A near duplicate of an item came in. It was linked to the item instead of being stored."""

    item_id: str
    text: str
    similarity: float
    origin: Origin


PIVOTAL = 3  # significance: such an item is pinned automatically
SUMMARY = "summary"  # the kind of an item that summarises others


@event("memory.rated")
class Rated(Event, frozen=True):
    """An item's significance was set: 0 routine, 1 notable, 2 significant, 3 pivotal."""

    item_id: str
    significance: int


@event("memory.pinned")
class Pinned(Event, frozen=True):
    """The item was pinned by hand."""

    item_id: str


@event("memory.unpinned")
class Unpinned(Event, frozen=True):
    """The item was unpinned by hand, or its automatic pin was declined."""

    item_id: str


@event("memory.pin_gave_way")
class PinGaveWay(Event, frozen=True):
    """An automatic pin was displaced by a newer one: its audience had reached the maximum.

    This depends on both items and on the newer rating: retract that, and the pin is back. Rating
    the item pivotal again also brings it back.
    """

    lasting: ClassVar[bool] = True

    item_id: str
    to: str


@event("memory.cited")
class Cited(Event, frozen=True):
    """Something cites the item. If a user wrote the citer, the item is immune to clean-up."""

    lasting: ClassVar[bool] = True

    item_id: str
    citer: str
    by_user: bool


@event("memory.citation_closed")
class CitationClosed(Event, frozen=True):
    """The citer was retired, or no longer cites the item."""

    lasting: ClassVar[bool] = True

    item_id: str
    citer: str


@event("memory.related")
class Related(Event, frozen=True):
    """Two items were related: one contradicts the other, or nearly repeats it."""

    item_id: str
    other_id: str
    relation: str


@event("memory.retired")
class Retired(Event, frozen=True):
    """The item was retired: recall skips it, and it can still be opened by its id."""

    item_id: str
    reason: str


@event("memory.demoted")
class Demoted(Event, frozen=True):
    """The item was demoted in favour of a summary of it, from which it can be reached."""

    item_id: str
    in_favour_of: str


@event("memory.compression_refused")
class CompressionRefused(Event, frozen=True):
    """The summariser could not compress these items. They are retried only after one changes."""

    item_ids: tuple[str, ...]
    reason: str


@event("memory.consolidation_asked")
class ConsolidationAsked(Event, frozen=True):
    """A consolidation was requested: demote these items in favour of one summary.

    It is an open job until `ConsolidationSettled`. `in_the_name_of` names for each item the actor
    who demotes it; an empty name leaves that item as it is.
    """

    item_ids: tuple[str, ...]
    in_the_name_of: tuple[str, ...]
    budget: int
    recall_k: int


@event("memory.consolidation_settled")
class ConsolidationSettled(Event, frozen=True):
    """A consolidation ended: all permitted items were demoted, or none, or no summary was written.

    No item is demoted if a search did not find the summary. Items that could not be demoted are
    not tried again.
    """

    summary_id: str
    verified: bool


class LedgerEntry(msgspec.Struct, frozen=True):
    """One piece of a prompt: its key, tokens, sources, and why it was left out if it was."""

    key: str
    tokens: int
    positions: tuple[int, ...]
    left_out: str


class LedgerSection(msgspec.Struct, frozen=True):
    """One section of a prompt. `tokens` is what it used; `tokens_max` is 0 if it had no limit."""

    name: str
    tier: str
    tokens: int
    tokens_max: int
    entries: tuple[LedgerEntry, ...]


class Ledger(msgspec.Struct, frozen=True):
    """The parts of a prompt with their tokens and sources. Contains positions, never text."""

    principal: str
    tokens: int
    soft: int
    hard: int
    counted_by: str
    exact: bool
    sections: tuple[LedgerSection, ...]


@event("memory.prompt_text_kept")
class PromptTextKept(Event, frozen=True):
    """A text of a prompt was kept, word for word: its instructions, its tools, what it added.

    It is kept once for all prompts that follow with the same text. It is derived from the facts
    that are quoted in it: it is deleted or purged with any of them, and stays when one is reworded.
    """

    lasting: ClassVar[bool] = True

    owner: str  # the conversation or world that the prompts belong to
    name: str
    text: str


@event("memory.context_assembled", schema=2)
class ContextAssembled(Event, frozen=True):
    """A prompt was assembled. `texts` are the positions of its kept texts, by name."""

    context_id: str
    ledger: Ledger
    texts: dict[str, int]


@upcast("memory.context_assembled", from_schema=1)
def _without_texts(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "texts": {}}


@event("memory.audience_granted")
class AudienceGranted(Event, frozen=True):
    """A principal was allowed to read, within these scopes: exact ones, `project:*`, or `*`."""

    principal: str
    scopes: tuple[str, ...]


@event("memory.audience_revoked")
class AudienceRevoked(Event, frozen=True):
    """A principal's permission to read was withdrawn."""

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
