"""State of the memory domain: what decisions about an item, an audience or a ledger need. Pure."""

from hashlib import sha256

import msgspec

from everloop.errors import Corrupt
from everloop.log import Event, Fact, Fold
from everloop.memory.model.events import (
    AudienceGranted,
    AudienceRevoked,
    CitationClosed,
    Cited,
    ContextAssembled,
    Demoted,
    Ledger,
    Pinned,
    PromptTextKept,
    Rated,
    Related,
    Remembered,
    Retired,
    Revised,
    Unpinned,
)
from everloop.memory.model.scopes import acts_as_user


class ItemState(msgspec.Struct, frozen=True):
    """The current state of an item. `position` is its first fact: later facts depend on that one.

    `version` is the position of its newest version. `author` is who stored it, or the user if the
    user has revised it since. `said_at` has the positions at which its title, text, scope and
    witnesses got their present values.
    """

    position: int
    version: int
    author: str
    title: str
    text: str
    scope: str
    witnesses: tuple[str, ...]
    derived_from: tuple[str, ...]
    said_at: tuple[int, int, int, int]
    significance: int = 0
    rated: bool = False  # whether anybody rated it; 0 may be a rating
    pinned: bool | None = None  # by hand; None: neither pinned nor unpinned
    retired: bool = False
    demoted_for: frozenset[str] = frozenset()
    citers: frozenset[tuple[str, bool]] = frozenset()
    related: frozenset[tuple[str, str]] = frozenset()

    @property
    def revisable_fields(self) -> tuple[str, str, str, tuple[str, ...]]:
        """The fields that a revision can change."""
        return self.title, self.text, self.scope, self.witnesses

    @property
    def cited_by_user(self) -> list[str]:
        """The citers that a user wrote."""
        return sorted(citer for citer, by_user in self.citers if by_user)


def evolve(item: ItemState | None, fact: Fact) -> ItemState:
    """The item after a fact."""
    happened, at = fact.event, fact.position
    if isinstance(happened, Remembered):
        return ItemState(
            position=at,
            version=at,
            author=fact.actor,
            title=happened.title,
            text=happened.text,
            scope=happened.scope,
            witnesses=happened.witnesses,
            derived_from=happened.derived_from,
            said_at=(at, at, at, at),
        )
    if item is None:
        raise Corrupt(f"{happened.wire} came before memory.remembered")
    changed = msgspec.structs.replace(item, **_changes(item, happened))
    if not isinstance(happened, Revised):
        return changed
    author = fact.actor if acts_as_user(fact.actor) else item.author
    both = zip(item.revisable_fields, changed.revisable_fields, item.said_at, strict=True)
    title, text, scope, witnesses = (at if old != new else said for old, new, said in both)
    said_at = (title, text, scope, witnesses)
    return msgspec.structs.replace(changed, version=at, author=author, said_at=said_at)


def _changes(item: ItemState, happened: Event) -> dict[str, object]:
    changes: dict[str, object] = {}
    match happened:
        case Revised(title=title, text=text, scope=scope, witnesses=witnesses):
            changes = {"title": title, "text": text, "scope": scope, "witnesses": witnesses}
        case Rated(significance=significance):
            changes = {"significance": significance, "rated": True}
        case Pinned():
            changes = {"pinned": True}
        case Unpinned():
            changes = {"pinned": False}
        case Cited(citer=citer, by_user=by_user):
            changes = {"citers": item.citers | {(citer, by_user)}}
        case CitationClosed(citer=closed):
            changes = {"citers": frozenset(c for c in item.citers if c[0] != closed)}
        case Related(other_id=other, relation=relation):
            changes = {"related": item.related | {(other, relation)}}
        case Retired():
            changes = {"retired": True}
        case Demoted(in_favour_of=summary):
            changes = {"demoted_for": item.demoted_for | {summary}}
        case _:
            pass
    return changes


ITEM_FOLD = Fold("memory.item", ItemState, evolve, version=5)


class AudienceState(msgspec.Struct, frozen=True):
    """The scopes that one principal may read."""

    scopes: tuple[str, ...] = ()


def evolve_audience(_: AudienceState | None, fact: Fact) -> AudienceState:
    """The audience after a fact."""
    match fact.event:
        case AudienceGranted(scopes=scopes):
            return AudienceState(scopes)
        case AudienceRevoked():
            return AudienceState()
        case _:
            return AudienceState()


AUDIENCE_FOLD = Fold("memory.audience", AudienceState, evolve_audience)


def evolve_context(kept: Ledger | None, fact: Fact) -> Ledger:
    """The ledger after a fact. It never changes."""
    if isinstance(fact.event, ContextAssembled):
        return fact.event.ledger
    if kept is None:
        raise Corrupt(f"{fact.event.wire} came before memory.context_assembled")
    return kept


CONTEXT_FOLD = Fold("memory.context", Ledger, evolve_context)


class PromptTexts(msgspec.Struct, frozen=True):
    """The newest text of each name: its position and its digest."""

    newest: dict[str, tuple[int, str]] = {}

    def holds(self, name: str, text: str) -> bool:
        """Whether the newest text of this name is this one."""
        return name in self.newest and self.newest[name][1] == _digest(text)


def evolve_prompt_texts(kept: PromptTexts | None, fact: Fact) -> PromptTexts:
    """The newest texts after a fact."""
    known = kept or PromptTexts()
    if not isinstance(fact.event, PromptTextKept):
        return known
    newest = (fact.position, _digest(fact.event.text))
    return PromptTexts({**known.newest, fact.event.name: newest})


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


PROMPT_TEXTS_FOLD = Fold("memory.prompt_texts", PromptTexts, evolve_prompt_texts)


def item_stream(item_id: str) -> str:
    """The stream of an item."""
    return f"memory:{item_id}"


def audience_stream(principal: str) -> str:
    """The stream of a principal's audience."""
    return f"audience:{principal}"


def context_stream(context_id: str) -> str:
    """The stream of a prompt's ledger."""
    return f"context:{context_id}"


def prompt_texts_stream(owner: str) -> str:
    """The stream of the texts of all prompts of a conversation or world."""
    return f"prompt-texts:{owner}"
