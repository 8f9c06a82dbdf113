"""What can happen to a skill, a persona or a team.

All three are entries of one crew: someone wrote them, they are in use or not, and what they say is
kept whole. Nothing here is ever run: a skill's hooks and files are stored, and shown as they are.
"""

from typing import Any, ClassVar, Literal

import msgspec

from everloop.log import Event, event

Sort = Literal["skill", "persona", "team"]
MemberSort = Literal["persona", "skill", "user"]


class HookHandler(msgspec.Struct, frozen=True):
    """What a host would do at an event. `settings` holds what its type needs, such as a command."""

    type: str
    settings: dict[str, Any]
    timeout_s: float = 0.0  # 0: the host's own
    once: bool = False


class HookGroup(msgspec.Struct, frozen=True):
    """Handlers of one event. `matcher` narrows what they are for; empty: everything."""

    handlers: tuple[HookHandler, ...]
    matcher: str = ""


class SkillFile(msgspec.Struct, frozen=True):
    """A file beside the instructions: its path in the skill's folder, and all that it holds."""

    path: str
    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    executable: bool = False


class Skill(msgspec.Struct, frozen=True, tag_field="sort", tag="skill"):
    """Something a model can do, with instructions.

    `front_matter` is the head of the page it was read from, to the letter, so that it goes out as
    it came in; empty if it was not read from a page.
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
    """Someone a model can be."""

    title: str
    description: str
    body: str


class Member(msgspec.Struct, frozen=True):
    """Someone or something in a team."""

    sort: MemberSort
    id: str


class Team(msgspec.Struct, frozen=True, tag_field="sort", tag="team"):
    """Who works together."""

    title: str
    description: str
    body: str
    members: tuple[Member, ...] = ()


Profile = Skill | Persona | Team


@event("lessons.crew_written")
class CrewWritten(Event, frozen=True):
    """An entry was written, or written anew: this is all of it, as it is now.

    `author` is whose words they are: `user`, `agent` or `pack`. `evidence` are the memories it
    stands on. `pack_id` is empty if no pack brought these words.
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
    """It is in use: manifests show it."""

    sort: Sort
    name: str


@event("lessons.crew_archived")
class CrewArchived(Event, frozen=True):
    """It is out of use, and can come back. `forced`: although a user wrote it."""

    sort: Sort
    name: str
    reason: str
    forced: bool


@event("lessons.crew_removed")
class CrewRemoved(Event, frozen=True):
    """It is gone from every list; its name is free. `forced`: although a user wrote it."""

    sort: Sort
    name: str
    reason: str
    forced: bool
