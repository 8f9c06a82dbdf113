"""Events of worlds: the character library, casts, scenes, messages, turns and lore.

Every event of a world lies in the tree of that world: a rewind or a branch takes all of it along.
What follows from a message is derived from the chosen version of it; see `VersionChosen`.
"""

from everloop.log import Event, event
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

# -- the library of characters ---------------------------------------------------------------------


@event("worlds.character_authored")
class CharacterAuthored(Event, frozen=True):
    """A character was added to the library."""

    character_id: str
    sheet: CharacterSheet


@event("worlds.character_revised")
class CharacterRevised(Event, frozen=True):
    """A character's sheet was changed."""

    character_id: str
    sheet: CharacterSheet


@event("worlds.character_removed")
class CharacterRemoved(Event, frozen=True):
    """A character was removed from the library. Worlds that it plays in keep it."""

    character_id: str


@event("worlds.character_restored")
class CharacterRestored(Event, frozen=True):
    """A removed character is in the library again."""

    character_id: str


# -- the world and its cast ------------------------------------------------------------------------


@event("worlds.world_opened")
class WorldOpened(Event, frozen=True):
    """A world began. `clock` is its time, as ISO 8601 in UTC."""

    world_id: str
    title: str
    player_name: str
    player_description: str
    clock: str


@event("worlds.world_renamed")
class WorldRenamed(Event, frozen=True):
    """A world got another title."""

    world_id: str
    title: str


@event("worlds.world_archived")
class WorldArchived(Event, frozen=True):
    """A world was archived; nothing in it is deleted."""

    world_id: str


@event("worlds.world_restored")
class WorldRestored(Event, frozen=True):
    """An archived world was restored."""

    world_id: str


@event("worlds.style_set")
class StyleSet(Event, frozen=True):
    """How the world is told was changed."""

    world_id: str
    style: Style


@event("worlds.author_note_set")
class AuthorNoteSet(Event, frozen=True):
    """The author's note was changed."""

    world_id: str
    note: AuthorNote


@event("worlds.cast_joined")
class CastJoined(Event, frozen=True):
    """A character of the library joined the cast. `met` tells how the others know it."""

    world_id: str
    character_id: str
    name: str
    met: str


@event("worlds.cast_left")
class CastLeft(Event, frozen=True):
    """A character left the cast. What it knows and feels stays recorded."""

    world_id: str
    character_id: str


# -- places and scenes -----------------------------------------------------------------------------


@event("worlds.place_defined")
class PlaceDefined(Event, frozen=True):
    """A place was added, or its description changed."""

    world_id: str
    place: Place


@event("worlds.scene_opened")
class SceneOpened(Event, frozen=True):
    """A scene began. Without the player among those present, it is a meanwhile-scene."""

    world_id: str
    scene_id: str
    place_id: str
    present: tuple[str, ...]
    premise: str
    weather: str


@event("worlds.scene_described")
class SceneDescribed(Event, frozen=True):
    """The premise or the weather of the open scene was changed."""

    world_id: str
    scene_id: str
    premise: str
    weather: str


@event("worlds.presence_changed")
class PresenceChanged(Event, frozen=True):
    """Someone entered or left the open scene. From here on, these are its witnesses."""

    world_id: str
    scene_id: str
    present: tuple[str, ...]


@event("worlds.scene_closed")
class SceneClosed(Event, frozen=True):
    """The scene ended."""

    world_id: str
    scene_id: str
    reason: str


@event("worlds.scene_summarised")
class SceneSummarised(Event, frozen=True):
    """A closed scene as one witness saw it. `learned` are facts that it knows since then."""

    world_id: str
    scene_id: str
    witness: str
    text: str
    learned: tuple[str, ...]
    relationship: str


@event("worlds.digest_recorded")
class DigestRecorded(Event, frozen=True):
    """What a meanwhile-scene comes to, in a sentence for those who were there."""

    world_id: str
    scene_id: str
    text: str


@event("worlds.activity_changed")
class ActivityChanged(Event, frozen=True):
    """Someone is somewhere else, or doing, holding or attending to something else."""

    world_id: str
    who: str
    activity: Activity


@event("worlds.condition_changed")
class ConditionChanged(Event, frozen=True):
    """Someone's mood, goals or status changed."""

    world_id: str
    who: str
    condition: Condition


# -- relationships ---------------------------------------------------------------------------------


@event("worlds.edge_shifted")
class EdgeShifted(Event, frozen=True):
    """What someone feels towards another moved a little."""

    world_id: str
    source: str
    target: str
    affinity: int
    trust: int
    reason: str


@event("worlds.edge_rewritten")
class EdgeRewritten(Event, frozen=True):
    """A relationship was summarised again, from one side."""

    world_id: str
    source: str
    target: str
    summary: str
    facts: tuple[str, ...]


@event("worlds.group_rewritten")
class GroupRewritten(Event, frozen=True):
    """What the three are to each other was summarised again."""

    world_id: str
    summary: str


# -- messages and turns ----------------------------------------------------------------------------


@event("worlds.message_written")
class MessageWritten(Event, frozen=True):
    """A message in a scene: the player's, or one written for someone. These people witnessed it."""

    world_id: str
    scene_id: str
    message_id: str
    speaker: str
    text: str
    passages: tuple[Passage, ...]
    witnesses: tuple[str, ...]
    addressee: str


@event("worlds.turn_recorded")
class TurnRecorded(Event, frozen=True):
    """A reply was requested; with the id of an existing message, another version of it."""

    world_id: str
    turn_id: str
    message_id: str
    speaker: str
    direction: str


@event("worlds.turn_sending")
class TurnSending(Event, frozen=True):
    """The prompt is being sent to a model; only the event that ends the turn tells the outcome."""

    world_id: str
    turn_id: str
    version_id: str
    model: str
    context_id: str
    sender: str


@event("worlds.turn_streaming")
class TurnStreaming(Event, frozen=True):
    """The first text of the reply arrived."""

    world_id: str
    turn_id: str


@event("worlds.reply_saved")
class ReplySaved(Event, frozen=True):
    """More text of the reply arrived."""

    world_id: str
    turn_id: str
    text: str


@event("worlds.version_rendered")
class VersionRendered(Event, frozen=True):
    """A reply was written; `finish` says how it ended: stop, length, stopped, failed, uncertain."""

    world_id: str
    scene_id: str
    message_id: str
    version_id: str
    speaker: str
    text: str
    passages: tuple[Passage, ...]
    witnesses: tuple[str, ...]
    model: str
    finish: str
    turn_id: str


@event("worlds.turn_failed")
class TurnFailed(Event, frozen=True):
    """A turn ended without a reply, or was stopped before any text."""

    world_id: str
    turn_id: str
    reason: str
    hint: str


@event("worlds.turn_left_uncertain")
class TurnLeftUncertain(Event, frozen=True):
    """The process that had sent a turn is gone; what the model did is not known."""

    world_id: str
    turn_id: str


@event("worlds.version_chosen")
class VersionChosen(Event, frozen=True):
    """This version of a message is the one that happened.

    All that follows from the message is derived from this event. To choose another version, this
    one is retracted, and everything that came of it goes along.
    """

    world_id: str
    message_id: str
    version_id: str


@event("worlds.message_edited")
class MessageEdited(Event, frozen=True):
    """A message was given another text by the player."""

    world_id: str
    message_id: str
    version_id: str
    text: str
    passages: tuple[Passage, ...]


@event("worlds.message_hidden")
class MessageHidden(Event, frozen=True):
    """A message was hidden from models; it stays readable."""

    world_id: str
    message_id: str


@event("worlds.message_unhidden")
class MessageUnhidden(Event, frozen=True):
    """A hidden message counts again."""

    world_id: str
    message_id: str


@event("worlds.witnesses_corrected")
class WitnessesCorrected(Event, frozen=True):
    """The player said who witnessed a message, and how they learned of it."""

    world_id: str
    message_id: str
    witnesses: tuple[str, ...]
    learned_via: dict[str, LearnedVia]
