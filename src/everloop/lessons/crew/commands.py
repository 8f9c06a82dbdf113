"""The commands on skills, personas and teams. The actor comes from the door, never from a field."""

from everloop.lessons.crew.events import Profile, Sort
from everloop.log import Command


class EnlistEntry(Command, frozen=True):
    """Add a skill, persona or team.

    `author` is who it claims wrote it: `user`, `agent` or `pack`. An entry that the same pack added
    before is updated; any other entry of that name is a conflict.
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
    """Update an entry; None leaves a field as it is."""

    sort: Sort
    name: str
    profile: Profile | None = None
    scope: str | None = None
    evidence: tuple[str, ...] | None = None


class ActivateEntry(Command, frozen=True):
    """Activate an entry, so that manifests show it."""

    sort: Sort
    name: str


class ArchiveEntry(Command, frozen=True):
    """Archive an entry. `force` is needed if a user wrote it, and only the user may set it."""

    sort: Sort
    name: str
    reason: str = ""
    force: bool = False


class RemoveEntry(Command, frozen=True):
    """Remove an entry. `force` is needed if a user wrote it, and only the user may set it."""

    sort: Sort
    name: str
    reason: str = ""
    force: bool = False
