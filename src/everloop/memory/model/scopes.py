"""Scopes and access control: the one rule that decides who may see an item. Pure.

A scope is `user`, `global`, or `team:x`, `skill:x`, `project:x`. There is no hierarchy. A principal
sees the scopes it was granted; one without a grant sees nothing. The owner, `user`, sees
everything: the log is theirs.

`world:x` is what characters of a story remember. It is fiction, so it is in no search that does not
name it: neither `*` nor being the owner includes it. A grant of one world lets a host read it
through the eyes of someone in it; what that person did not witness stays unknown.
"""

import re
from typing import Final

import msgspec

from everloop.errors import Invalid

OWNER: Final = "user"
SCOPE_KINDS: Final = ("user", "global", "team", "skill", "project")
WORLD: Final = "world"  # the kind of scopes of stories
WORLD_PREFIX: Final = f"{WORLD}:"
_SCOPE = re.compile(r"user|global|(?:team|skill|project|world):[^\s*][^\n*]{0,99}")


class Viewer(msgspec.Struct, frozen=True):
    """A principal with its granted scopes. The doors create it; a request never supplies it."""

    principal: str
    scopes: tuple[str, ...]

    @property
    def is_owner(self) -> bool:
        """Whether this is the owner of the log."""
        return self.principal == OWNER

    def has_scope(self, scope: str) -> bool:
        """Whether the grants include a scope."""
        kind = scope.partition(":")[0]
        if kind == WORLD:
            return not {scope, f"{WORLD}:*"}.isdisjoint(self.scopes)
        return self.is_owner or not {"*", scope, f"{kind}:*"}.isdisjoint(self.scopes)

    def may_see(self, scope: str, witnesses: tuple[str, ...]) -> bool:
        """Whether an item is visible: in a granted scope, and to its witnesses if it has any."""
        if not self.has_scope(scope):
            return False
        return self.is_owner or not witnesses or self.principal in witnesses


NEW_HOSTS: Final = "agent:*"  # stands for every host that nobody decided about; no host's name

NOBODY: Final = Viewer("", ())


def acts_as_user(actor: str) -> bool:
    """Whether an actor's text counts as the user's own. A pack's does: the user installed it."""
    return actor == OWNER or actor.startswith("pack:")


def check_scope(scope: str) -> str:
    """Return a valid scope unchanged.

    Raises:
        Invalid: it is not a scope.
    """
    if not _SCOPE.fullmatch(scope):
        raise Invalid(
            f"{scope!r} is not a scope",
            hint="Use user, global, team:NAME, skill:NAME or project:NAME.",
        )
    return scope


def check_grant(scope: str) -> str:
    """Return the scope of a grant, which may also be a wildcard: `*`, `project:*` and the like.

    Raises:
        Invalid: it is neither a scope nor a wildcard.
    """
    if scope == "*" or scope in {f"{kind}:*" for kind in SCOPE_KINDS[2:]}:
        return scope
    if scope == f"{WORLD_PREFIX}*":
        raise Invalid(f"{scope!r} cannot be granted", hint="Grant each world by its id.")
    if not _SCOPE.fullmatch(scope):
        raise Invalid(
            f"{scope!r} is not a scope",
            hint="Use user, global, team:NAME, skill:NAME or project:NAME; 'project:*' and the like"
            " for all of a kind, '*' for everything.",
        )
    return scope
