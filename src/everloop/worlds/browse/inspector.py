"""The prompt that a character would get now, and what it was not allowed to see."""

from collections.abc import Iterator

import msgspec

from everloop.errors import Conflict
from everloop.log import Reader
from everloop.worlds.browse.knowledge import name_of
from everloop.worlds.message_parsing import directions, told_text
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s
from everloop.worlds.model.checks import require_present
from everloop.worlds.model.state import Scene, World
from everloop.worlds.model.values import Condition, Edge
from everloop.worlds.prompt.assemble import PromptLimits, WorldPrompt
from everloop.worlds.queries import lore_entries, story_messages, timeline

DEFAULT_LIMITS = PromptLimits()


class WithheldText(msgspec.Struct, frozen=True):
    """Something in the world that a character was not told, and why."""

    kind: str
    text: str
    reason: str


class InspectedPrompt(msgspec.Struct, frozen=True):
    """A character's prompt as it would be sent now, and what was withheld from it."""

    who: str
    name: str
    made: WorldPrompt
    limits: PromptLimits
    withheld: tuple[WithheldText, ...]


def inspect_character(
    reader: Reader,
    world_id: str,
    world: World,
    who: str,
    made: WorldPrompt,
    limits: PromptLimits = DEFAULT_LIMITS,
) -> InspectedPrompt:
    """The prompt for the next reply of a character in the open scene, and what is not in it.

    Raises:
        Conflict: no scene is open.
    """
    scene = world.scene
    if scene is None:
        raise Conflict("no scene is open", hint="Open a scene to see who would be told what.")
    require_present(world, who)
    withheld = tuple(_withheld(reader, world_id, world, scene, who))
    return InspectedPrompt(who, name_of(world, who), made, limits, withheld)


def _withheld(
    reader: Reader, world_id: str, world: World, scene: Scene, who: str
) -> Iterator[WithheldText]:
    yield from _messages(reader, world_id, world, scene, who)
    yield from _story(reader, world_id, world, who)
    yield from _others(world, who)
    for entry in lore_entries(reader, world_id):
        if entry.enabled and entry.audience and who not in entry.audience:
            yield WithheldText("lore", entry.title or entry.content, "is not in its audience")


def _messages(
    reader: Reader, world_id: str, world: World, scene: Scene, who: str
) -> Iterator[WithheldText]:
    for one in story_messages(reader, world_id, scene_id=scene.scene_id):
        said = f"{name_of(world, one.speaker)}: {told_text(one.passages)}"
        if one.hidden:
            yield WithheldText("dialogue", said, "was hidden from models")
        elif who not in one.witnesses and told_text(one.passages):
            yield WithheldText("dialogue", said, "did not witness it")
        if outside := directions(one.passages):
            yield WithheldText("outside", outside, "was said outside the story")


def _story(reader: Reader, world_id: str, world: World, who: str) -> Iterator[WithheldText]:
    for event in world.events.values():
        if who not in event.known_to:
            yield WithheldText("event", event.title, "does not know of it")
    for plot in world.plots.values():
        if who not in plot.known_to:
            yield WithheldText("plot", plot.title, "does not know of it")
    for one in timeline(reader, world_id, ("scene_summarised", "offstage_remembered")):
        match one.event:
            case e.SceneSummarised(witness=witness, text=text) if witness != who:
                yield WithheldText("summary", text, f"is how {name_of(world, witness)} saw it")
            case s.OffstageRemembered(witness=witness, text=text) if witness != who:
                yield WithheldText("offstage", text, f"only {name_of(world, witness)} lived it")
            case _:
                pass


def _others(world: World, who: str) -> Iterator[WithheldText]:
    for other in world.people:
        if other == who:
            continue
        name = name_of(world, other)
        condition = world.conditions.get(other, Condition())
        inner = "; ".join(each for each in (condition.mood, *condition.goals) if each)
        if inner:
            yield WithheldText("condition", f"{name}: {inner}", "is the other's own mind")
        for target in world.people:
            edge = world.edge(other, target)
            if target != other and edge != Edge():
                text = f"{name} towards {name_of(world, target)}: {edge.summary or edge.affinity}"
                yield WithheldText("edge", text, f"is how {name} feels")
