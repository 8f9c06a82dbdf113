"""What a decision about a lesson is told of the world around it: plain values, read beforehand."""

import msgspec

from everloop.errors import Forbidden
from everloop.lessons.model.lifecycle import Status
from everloop.log import Asking, Context
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.scopes import OWNER, Asker


class ItemSeen(msgspec.Struct, frozen=True):
    """A memory that evidence names, as it stands."""

    position: int
    scope: str
    witnesses: tuple[str, ...]
    text: str


class Replacement(msgspec.Struct, frozen=True):
    """The lesson that is to take another's place, and what that one's place was taken by."""

    position: int
    scope: str
    writer: str
    status: Status
    chain: tuple[str, ...]


class Surroundings(msgspec.Struct, frozen=True):
    """Whom the user trusts, who may see what, and what a command names."""

    trusted: frozenset[str] = frozenset()  # actors
    trusted_at: dict[str, int] = {}  # where the user said so; what rests on that goes with it
    audiences: dict[str, tuple[str, ...]] = {}
    items: dict[str, ItemSeen] = {}
    replacement: Replacement | None = None

    def asker(self, by: Context) -> Asker:
        """Who speaks, as one who asks."""
        if by.actor in (OWNER, ENGINE):
            return Asker(OWNER, ("*",))
        return Asker(by.actor, self.audiences.get(by.actor, ()))

    def seen(self, by: Context, item_id: str) -> ItemSeen | None:
        """A memory, if there is one that this speaker may see."""
        item = self.items.get(item_id)
        if item is None or not self.asker(by).may_see(item.scope, item.witnesses):
            return None
        return item


def may_see(who: Asker, scope: str, writer: str) -> bool:
    """The rule for lessons and crew: in scope, or one's own."""
    return who.admits(scope) or who.principal == writer


def around(asking: Asking) -> Surroundings:
    """What the decision was told."""
    return asking.known if isinstance(asking.known, Surroundings) else Surroundings()


def speaks_for_user(asking: Asking) -> bool:
    """Whether this is the user's word: their own, or passed on by a host that they trust now."""
    return asking.by.actor == OWNER or asking.by.actor in around(asking).trusted


def trust_behind(asking: Asking) -> tuple[int, ...]:
    """Where the user said that they trust the one who speaks; nothing if they speak themselves."""
    at = around(asking).trusted_at.get(asking.by.actor)
    return () if at is None else (at,)


def check_speaks_for_user(asking: Asking, what: str) -> None:
    """Make sure that it is.

    Raises:
        Forbidden: it is not.
    """
    if not speaks_for_user(asking):
        raise Forbidden(
            f"{asking.by.actor} may not {what}",
            hint="Only the user can, or a host they trust: `everloop hosts trust NAME`.",
        )
