"""What can be asked of the crew. Who asks is the door's to say, never a field here."""

from everloop.lessons.crew.events import Profile, Sort
from everloop.log import Command


class EnlistEntry(Command, frozen=True):
    """Take a new skill, persona or team in.

    `author` is whose words it claims to be: `user`, `agent` or `pack`. An entry that the same pack
    brought before is written anew; any other of that name is a conflict.
    """

    sort: Sort
    name: str
    profile: Profile
    scope: str = "user"
    author: str = "agent"
    evidence: tuple[str, ...] = ()
    pack_id: str = ""
    draft: bool = False


class ReviseEntry(Command, frozen=True):
    """Write an entry anew; what is None stays."""

    sort: Sort
    name: str
    profile: Profile | None = None
    scope: str | None = None
    evidence: tuple[str, ...] | None = None


class ActivateEntry(Command, frozen=True):
    """Put it to use."""

    sort: Sort
    name: str


class ArchiveEntry(Command, frozen=True):
    """Put it out of use. `force` is a user's word against what a user wrote."""

    sort: Sort
    name: str
    reason: str = ""
    force: bool = False


class RemoveEntry(Command, frozen=True):
    """Let it go. `force` is a user's word against what a user wrote."""

    sort: Sort
    name: str
    reason: str = ""
    force: bool = False
