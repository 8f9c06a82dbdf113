"""Scopes: whom an item is for, and the one rule of who may see it.

A scope is `user`, `global`, or `team:x`, `skill:x`, `project:x`. There is no hierarchy. A principal
is let in by grants; one without a grant sees nothing. The owner, `user`, sees everything that is
theirs: the log is theirs.
"""

import re
from typing import Final

import msgspec

from everloop.errors import Invalid

OWNER: Final = "user"
KINDS: Final = ("user", "global", "team", "skill", "project")
_SCOPE = re.compile(r"user|global|(?:team|skill|project):[^\s*][^\n*]{0,99}")


class Asker(msgspec.Struct, frozen=True):
    """Who asks, and within which scopes. The doors make it; a request never does."""

    principal: str
    scopes: tuple[str, ...]

    @property
    def owner(self) -> bool:
        """Whether this is the one whose log it is."""
        return self.principal == OWNER

    def admits(self, scope: str) -> bool:
        """Whether the grants reach a scope."""
        kind = scope.partition(":")[0]
        return self.owner or not {"*", scope, f"{kind}:*"}.isdisjoint(self.scopes)

    def may_see(self, scope: str, witnesses: tuple[str, ...]) -> bool:
        """The rule: in scope, and a witness if there are witnesses."""
        if not self.admits(scope):
            return False
        return self.owner or not witnesses or self.principal in witnesses


NOBODY: Final = Asker("", ())


def written_by_user(actor: str) -> bool:
    """Whether an actor's words count as the user's. A pack's do: the user installed it."""
    return actor == OWNER or actor.startswith("pack:")


def check_scope(scope: str) -> str:
    """The scope, if it is one.

    Raises:
        Invalid: it is not.
    """
    if not _SCOPE.fullmatch(scope):
        raise Invalid(
            f"{scope!r} is not a scope",
            hint="Use user, global, team:NAME, skill:NAME or project:NAME.",
        )
    return scope


def check_grant(scope: str) -> str:
    """The scope of a grant, which may also be `*`, or `project:*` and the like.

    Raises:
        Invalid: it is neither.
    """
    if scope == "*" or scope in {f"{kind}:*" for kind in KINDS[2:]}:
        return scope
    return check_scope(scope)
