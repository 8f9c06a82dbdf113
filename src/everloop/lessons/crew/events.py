"""The events of skills, personas and teams.

All three are entries of one crew: they have an author, a status and a profile that is stored whole.
Nothing here is ever executed: a skill's hooks and files are stored and shown as text.
"""

from typing import Any, ClassVar, Literal

import msgspec

from everloop.log import Event, event

Sort = Literal["skill", "persona", "team"]
MemberSort = Literal["persona", "skill", "user"]


class HookHandler(msgspec.Struct, frozen=True):
    """A hook that a host runs at an event. `settings` depends on its type, such as a command."""

    type: str
    settings: dict[str, Any]
    timeout_s: float = 0.0  # 0: the host's own
    once: bool = False


class HookGroup(msgspec.Struct, frozen=True):
    """Handlers of one event. `matcher` limits when they run; empty matches everything."""

    handlers: tuple[HookHandler, ...]
    matcher: str = ""


class SkillFile(msgspec.Struct, frozen=True):
    """A file of a skill: its path in the skill's folder, and its content."""

    path: str
    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    executable: bool = False


class Skill(msgspec.Struct, frozen=True, tag_field="sort", tag="skill"):
    """A skill: instructions for something that a model can do.

    `front_matter` is that of the imported page, verbatim, so that an export equals the import;
    empty if it was not imported from a page.
    """

    description: str
    body: str
    type: str = "generative"
    version: str = ""
    when_to_use: str = ""
    argument_hint: str = ""
    arguments: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    context: str = "inherit"
    agent: str = ""
    hooks: dict[str, tuple[HookGroup, ...]] = {}
    paths: tuple[str, ...] = ()
    activation: str = "auto"
    front_matter: str = ""
    files: tuple[SkillFile, ...] = ()


class Persona(msgspec.Struct, frozen=True, tag_field="sort", tag="persona"):
    """A persona: a role that a model can take."""

    title: str
    description: str
    body: str


class Member(msgspec.Struct, frozen=True):
    """A member of a team: a persona, a skill or a user."""

    sort: MemberSort
    id: str


class Team(msgspec.Struct, frozen=True, tag_field="sort", tag="team"):
    """A team: members that work together."""

    title: str
    description: str
    body: str
    members: tuple[Member, ...] = ()


Profile = Skill | Persona | Team


@event("lessons.crew_written")
class CrewWritten(Event, frozen=True):
    """An entry was added or updated: this is all of it, not a difference.

    `author` is who wrote it: `user`, `agent` or `pack`. `evidence` are the memories that it cites.
    `pack_id` is empty if this version came from no pack.
    """

    supersedes: ClassVar[bool] = True

    sort: Sort
    name: str
    profile: Profile
    scope: str
    status: str  # draft, active or archived
    author: str
    session: str
    evidence: tuple[str, ...]
    pack_id: str


@event("lessons.crew_activated")
class CrewActivated(Event, frozen=True):
    """It was activated: manifests show it."""

    sort: Sort
    name: str


@event("lessons.crew_archived")
class CrewArchived(Event, frozen=True):
    """It was archived, and can be activated again. `forced`: although a user wrote it."""

    sort: Sort
    name: str
    reason: str
    forced: bool


@event("lessons.crew_removed")
class CrewRemoved(Event, frozen=True):
    """It was removed from every list; its name is free. `forced`: although a user wrote it."""

    sort: Sort
    name: str
    reason: str
    forced: bool
