"""What one person of a world knows, scene by scene; and what they missed, for the player only."""

import msgspec

from everloop.errors import NotFound
from everloop.log import Reader
from everloop.worlds.browse.scenes import (
    Course,
    EventRecord,
    PlotRecord,
    SceneRecord,
    SceneSummary,
    names_in,
)
from everloop.worlds.message_parsing import told_text
from everloop.worlds.model import story_events as s
from everloop.worlds.model.state import World
from everloop.worlds.model.values import Edge, LearnedVia
from everloop.worlds.queries import StoryMessage, lore_entries, story_messages, timeline

SCENE_MESSAGES_MAX = 1_000


class KnownMessage(msgspec.Struct, frozen=True):
    """A line of the story, and how someone learned of it."""

    message_id: str
    speaker: str
    text: str
    learned_via: LearnedVia
    position: int


class KnownScene(msgspec.Struct, frozen=True):
    """What someone knows of a scene: their own summary, and the lines that reached them."""

    scene: SceneRecord
    summary: SceneSummary | None
    known: tuple[KnownMessage, ...]
    missed: tuple[KnownMessage, ...]


class OffstageMemory(msgspec.Struct, frozen=True):
    """What someone lived through while the story skipped ahead."""

    text: str
    clock: str
    position: int


class Knowledge(msgspec.Struct, frozen=True):
    """What one person of a world knows."""

    who: str
    name: str
    scenes: tuple[KnownScene, ...]
    offstage: tuple[OffstageMemory, ...]
    events: tuple[EventRecord, ...]
    plots: tuple[PlotRecord, ...]
    edges: dict[str, Edge]
    lore: tuple[s.LoreEntry, ...]


def knowledge_of(
    reader: Reader, world_id: str, world: World, course: Course, who: str
) -> Knowledge:
    """What someone knows. `missed` of a scene is what they do not: only the player may see it.

    Raises:
        NotFound: nobody of that id is or was in this world.
    """
    if who not in (names := names_in(reader, world_id, world)):
        listed = ", ".join(f"{key} ({name})" for key, name in names.items())
        raise NotFound(f"{who!r} is not in this world", hint=f"In it are or were: {listed}.")
    told = timeline(reader, world_id, ("offstage_remembered",))
    return Knowledge(
        who,
        names[who],
        tuple(_scene(reader, world_id, scene, who) for scene in course.scenes),
        tuple(
            OffstageMemory(one.event.text, one.event.clock, one.position)
            for one in told
            if isinstance(one.event, s.OffstageRemembered) and one.event.witness == who
        ),
        tuple(one for one in course.events if who in one.known_to),
        tuple(one for one in course.plots if who in one.known_to),
        {each: world.edge(who, each) for each in world.people if each != who},
        tuple(
            one
            for one in lore_entries(reader, world_id)
            if one.enabled and (not one.audience or who in one.audience)
        ),
    )


def without_missed(known: Knowledge) -> Knowledge:
    """The same, for readers that may not see what someone missed: every door but the player's."""
    scenes = [
        msgspec.structs.replace(
            one,
            missed=(),
            scene=msgspec.structs.replace(
                one.scene,
                premise=one.scene.premise if known.who in one.scene.began_with else "",
                summaries=(),
                digest=one.scene.digest if one.scene.was_followed_by(known.who) else "",
                reason="",
            ),
        )
        for one in known.scenes
        if one.known or one.summary or known.who in one.scene.present
    ]
    return msgspec.structs.replace(known, scenes=tuple(scenes))


def name_of(world: World, who: str) -> str:
    """The name of someone in a world."""
    return world.name_of(who) or who


def _scene(reader: Reader, world_id: str, scene: SceneRecord, who: str) -> KnownScene:
    messages = story_messages(reader, world_id, scene_id=scene.scene_id, limit=SCENE_MESSAGES_MAX)
    told = [one for one in messages if one.counts and not one.hidden and told_text(one.passages)]
    return KnownScene(
        scene,
        next((one for one in scene.summaries if one.witness == who), None),
        tuple(_message(one, who) for one in told if who in one.witnesses),
        tuple(_message(one, who) for one in told if who not in one.witnesses),
    )


def _message(message: StoryMessage, who: str) -> KnownMessage:
    """A line as a character may be told it: without the words outside the story."""
    return KnownMessage(
        message.message_id,
        message.speaker,
        told_text(message.passages),
        message.learned_via.get(who, "saw"),
        message.position,
    )
