"""Commands of worlds: the character library, casts, scenes, messages and turns.

Commands that follow from a message carry `because`: the positions they are derived from.
"""

import msgspec

from everloop.log import Command
from everloop.worlds.model.values import (
    Activity,
    AuthorNote,
    CharacterSheet,
    Condition,
    LearnedVia,
    Passage,
    Place,
    Style,
)


class AuthorCharacter(Command, frozen=True):
    """Add a character to the library."""

    character_id: str
    sheet: CharacterSheet
    because: tuple[int, ...] = ()


class ReviseCharacter(Command, frozen=True):
    """Change a character's sheet."""

    character_id: str
    sheet: CharacterSheet


class RemoveCharacter(Command, frozen=True):
    """Remove a character from the library."""

    character_id: str


class RestoreCharacter(Command, frozen=True):
    """Put a removed character back into the library."""

    character_id: str


class OpenWorld(Command, frozen=True):
    """Begin a world. `clock` is its time, as ISO 8601."""

    world_id: str
    title: str
    player_name: str
    clock: str
    player_description: str = ""
    because: tuple[int, ...] = ()


class RenameWorld(Command, frozen=True):
    """Give a world another title."""

    world_id: str
    title: str


class ArchiveWorld(Command, frozen=True):
    """Archive a world."""

    world_id: str


class RestoreWorld(Command, frozen=True):
    """Restore an archived world."""

    world_id: str


class SetStyle(Command, frozen=True):
    """Change how a world is told."""

    world_id: str
    style: Style


class SetAuthorNote(Command, frozen=True):
    """Change the author's note."""

    world_id: str
    note: AuthorNote


class JoinCast(Command, frozen=True):
    """Add a character to the cast; where two are in it, `replaces` names who makes room."""

    world_id: str
    character_id: str
    name: str
    met: str = ""
    replaces: str = ""
    because: tuple[int, ...] = ()


class LeaveCast(Command, frozen=True):
    """Take a character out of the cast. In a scene, that ends it and begins `next_scene_id`."""

    world_id: str
    character_id: str
    next_scene_id: str = ""


class DefinePlace(Command, frozen=True):
    """Add a place, or change its description."""

    world_id: str
    place: Place
    because: tuple[int, ...] = ()


class OpenScene(Command, frozen=True):
    """Begin a scene. Without the player among those present, it is a meanwhile-scene."""

    world_id: str
    scene_id: str
    place_id: str
    present: tuple[str, ...]
    premise: str = ""
    weather: str = ""
    because: tuple[int, ...] = ()


class DescribeScene(Command, frozen=True):
    """Change the premise or the weather of the open scene; None leaves it as it is."""

    world_id: str
    premise: str | None = None
    weather: str | None = None


class ChangePresence(Command, frozen=True):
    """Say who is in the open scene from now on."""

    world_id: str
    present: tuple[str, ...]
    because: tuple[int, ...] = ()


class CloseScene(Command, frozen=True):
    """End the open scene."""

    world_id: str
    scene_id: str
    reason: str = ""
    because: tuple[int, ...] = ()


class SummariseScene(Command, frozen=True):
    """Record a closed scene as one witness saw it."""

    world_id: str
    scene_id: str
    witness: str
    text: str
    learned: tuple[str, ...] = ()
    relationship: str = ""
    because: tuple[int, ...] = ()


class RecordDigest(Command, frozen=True):
    """Record what a meanwhile-scene comes to."""

    world_id: str
    scene_id: str
    text: str
    because: tuple[int, ...] = ()


class ChangeActivity(Command, frozen=True):
    """Change where someone is and what they do, hold and attend to."""

    world_id: str
    who: str
    activity: Activity
    because: tuple[int, ...] = ()


class ChangeCondition(Command, frozen=True):
    """Change someone's mood, goals or status."""

    world_id: str
    who: str
    condition: Condition
    because: tuple[int, ...] = ()


class ShiftEdge(Command, frozen=True):
    """Move what someone feels towards another a little."""

    world_id: str
    source: str
    target: str
    affinity: int = 0
    trust: int = 0
    reason: str = ""
    because: tuple[int, ...] = ()


class RewriteEdge(Command, frozen=True):
    """Summarise a relationship again, from one side."""

    world_id: str
    source: str
    target: str
    summary: str
    facts: tuple[str, ...] = ()
    because: tuple[int, ...] = ()


class RewriteGroup(Command, frozen=True):
    """Summarise again what the three are to each other."""

    world_id: str
    summary: str
    because: tuple[int, ...] = ()


class WriteMessage(Command, frozen=True):
    """Write a message in the open scene. Without `witnesses`, everyone present is one."""

    world_id: str
    message_id: str
    speaker: str
    text: str
    passages: tuple[Passage, ...] = ()
    addressee: str = ""
    witnesses: tuple[str, ...] = ()
    because: tuple[int, ...] = ()


class RecordTurn(Command, frozen=True):
    """Request a reply of a character, or another version of one that exists."""

    world_id: str
    turn_id: str
    message_id: str
    speaker: str
    direction: str = ""
    because: tuple[int, ...] = ()


class BeginSending(Command, frozen=True):
    """Claim the turn that waits, to send it. Of two processes that try, one succeeds."""

    world_id: str
    turn_id: str
    version_id: str
    model: str
    context_id: str
    sender: str
    because: tuple[int, ...] = ()


class BeginStreaming(Command, frozen=True):
    """Record that the first text of a reply arrived."""

    world_id: str
    turn_id: str


class SaveReply(Command, frozen=True):
    """Save the text of a reply that arrived since the last time."""

    world_id: str
    turn_id: str
    text: str


class FinishTurn(Command, frozen=True):
    """End a turn with its text; `finish` says how it ended: stop, length, stopped or failed."""

    world_id: str
    turn_id: str
    text: str
    model: str
    finish: str = "stop"
    passages: tuple[Passage, ...] = ()


class FailTurn(Command, frozen=True):
    """End a turn that brought no text."""

    world_id: str
    turn_id: str
    reason: str
    hint: str = ""


class LeaveUncertain(Command, frozen=True):
    """End a turn whose process is gone."""

    world_id: str
    turn_id: str


class ChooseVersion(Command, frozen=True):
    """Make a version of the newest message the one that happened."""

    world_id: str
    message_id: str
    version_id: str
    because: tuple[int, ...] = ()


class EditMessage(Command, frozen=True):
    """Give a message another text."""

    world_id: str
    message_id: str
    version_id: str
    text: str
    passages: tuple[Passage, ...] = ()
    because: tuple[int, ...] = ()


class HideMessage(Command, frozen=True):
    """Hide a message from models."""

    world_id: str
    message_id: str
    because: tuple[int, ...] = ()


class UnhideMessage(Command, frozen=True):
    """Let a hidden message count again."""

    world_id: str
    message_id: str
    because: tuple[int, ...] = ()


class CorrectWitnesses(Command, frozen=True):
    """Say who witnessed a message, and how those who were not there learned of it."""

    world_id: str
    message_id: str
    witnesses: tuple[str, ...]
    learned_via: dict[str, LearnedVia] = msgspec.field(default_factory=dict[str, LearnedVia])
    because: tuple[int, ...] = ()
