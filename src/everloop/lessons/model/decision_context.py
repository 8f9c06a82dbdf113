"""The context of a decision beyond its own stream: trust, audiences and cited memories.

Plain values, read before the decision runs, so that decisions stay pure.
"""

import msgspec

from everloop.errors import Forbidden
from everloop.lessons.model.lifecycle import Status
from everloop.log import Context, DecisionContext
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.scopes import OWNER, Viewer


class CitedItem(msgspec.Struct, frozen=True):
    """A memory that evidence names, in its current version."""

    position: int
    scope: str
    witnesses: tuple[str, ...]
    text: str


class Replacement(msgspec.Struct, frozen=True):
    """The lesson that replaces another, and the chain of lessons that replaced it in turn."""

    position: int
    scope: str
    writer: str
    status: Status
    chain: tuple[str, ...]


class DecisionLookup(msgspec.Struct, frozen=True):
    """Trusted hosts, audiences, and the memories or the lesson that a command names."""

    trusted: frozenset[str] = frozenset()  # actors
    # The fact that granted the trust: revoking it retracts everything that depends on it.
    trusted_at: dict[str, int] = {}
    audiences: dict[str, tuple[str, ...]] = {}
    items: dict[str, CitedItem] = {}
    replacement: Replacement | None = None
    # For each host, the newest words that a door heard in it and that contain the quoted ones.
    heard_at: dict[str, int] = {}

    def asker(self, by: Context) -> Viewer:
        """The actor, with the scopes that it may see."""
        if by.actor in (OWNER, ENGINE):
            return Viewer(OWNER, ("*",))
        return Viewer(by.actor, self.audiences.get(by.actor, ()))

    def visible_item(self, by: Context, item_id: str) -> CitedItem | None:
        """A memory, if it exists and the actor may see it."""
        item = self.items.get(item_id)
        if item is None or not self.asker(by).may_see(item.scope, item.witnesses):
            return None
        return item


def may_see(who: Viewer, scope: str, writer: str) -> bool:
    """Visibility of lessons and crew: the scope is admitted, or the asker wrote it."""
    return who.has_scope(scope) or who.principal == writer


def lookup_of(asking: DecisionContext) -> DecisionLookup:
    """The context that was read for a decision; empty if none was."""
    return asking.known if isinstance(asking.known, DecisionLookup) else DecisionLookup()


def speaks_for_user(asking: DecisionContext) -> bool:
    """Whether the actor is the user, or a host that the user trusts now."""
    return asking.by.actor == OWNER or asking.by.actor in lookup_of(asking).trusted


def trust_grounds(asking: DecisionContext) -> tuple[int, ...]:
    """The fact that granted trust to the actor; empty if the user acts in person."""
    at = lookup_of(asking).trusted_at.get(asking.by.actor)
    return () if at is None else (at,)


def check_speaks_for_user(asking: DecisionContext, what: str) -> None:
    """Check that the actor is the user, or a host that the user trusts.

    Raises:
        Forbidden: it is neither.
    """
    if not speaks_for_user(asking):
        raise Forbidden(
            f"{asking.by.actor} may not {what}",
            hint="Only the user can, or a host they trust: `everloop hosts trust NAME`.",
        )
