"""What one person of a world knows: the only source of what a prompt for them is made of.

Everything here is filtered by witness: messages that reached them, summaries of their own, events
and plot threads that they know of, their side of relationships. A prompt takes nothing from
elsewhere, so what someone did not see cannot be in it. The narrator, whom everyone present hears,
knows what all of them know.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from everloop.log import Reader
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s
from everloop.worlds.model.state import Plot, Scene, StoryEvent, World
from everloop.worlds.model.values import NARRATOR, Activity, Condition, Edge
from everloop.worlds.queries import (
    StoryMessage,
    count_messages,
    lore_entries,
    newest_entries,
    scene_entries,
    story_messages,
)

CHUNK: Final = 10  # older dialogue goes by this many messages, so that what is before stays cached
DIGESTS = 5  # newest digests among which one's own is looked for


class ViewLimits(msgspec.Struct, frozen=True):
    """How much is read for a prompt: messages of the scene, earlier scenes, off-stage memories."""

    messages: int = 60
    summaries: int = 4
    offstage: int = 2


class KnownText(msgspec.Struct, frozen=True):
    """Something that a person knows, with the facts it comes from."""

    text: str
    positions: tuple[int, ...]
    key: str = ""


class PointOfView(msgspec.Struct, frozen=True):
    """A world as one person knows it. `numbers` count the messages of the scene.

    `up_to_date` tells whether the last message is the newest of the scene: nobody whispered since.
    """

    world_id: str
    who: str
    name: str
    world: World
    scene: Scene
    names: dict[str, str]
    messages: tuple[StoryMessage, ...]
    numbers: tuple[int, ...]
    up_to_date: bool
    premise: str
    activities: dict[str, Activity]
    condition: Condition
    edges: dict[str, Edge]
    holdings: dict[str, tuple[str, ...]]
    events: tuple[tuple[str, StoryEvent], ...]
    plots: tuple[Plot, ...]
    summaries: tuple[KnownText, ...]
    offstage: tuple[KnownText, ...]
    digest: KnownText | None
    lore: tuple[s.LoreEntry, ...]
    gone_props: tuple[str, ...] = ()


def point_of_view(  # noqa: PLR0913 - the last two are named and optional
    reader: Reader,
    world_id: str,
    world: World,
    scene: Scene,
    who: str,
    *,
    limits: ViewLimits = ViewLimits(),  # noqa: B008 - it is frozen
    without: str = "",
) -> PointOfView:
    """The world as someone in the open scene knows it, without one message if it is named."""
    viewers = scene.present if who == NARRATOR else (who,)
    happened = _happened(reader, world_id, scene, limits.messages, without)
    numbered = [(at, one) for at, one in happened if all(map(one.reaches, viewers))]
    return PointOfView(
        world_id=world_id,
        who=who,
        name=_name(world, who),
        world=world,
        scene=scene,
        names={each: _name(world, each) for each in scene.present},
        messages=tuple(message for _, message in numbered),
        numbers=tuple(number for number, _ in numbered),
        up_to_date=numbered[-1:] == happened[-1:],
        premise=scene.premise if _all(viewers, scene.premise_known_to) else "",
        activities={each: _seen(world, each, who) for each in scene.present},
        condition=world.conditions.get(who, Condition()),
        edges={each: world.edge(who, each) for each in scene.present if each != who},
        holdings={each: world.holding(each) for each in scene.present},
        events=tuple(pair for pair in world.events.items() if _all(viewers, pair[1].known_to)),
        plots=tuple(plot for plot in world.plots.values() if _all(viewers, plot.known_to)),
        summaries=tuple(_summaries(reader, world_id, who, limits.summaries)),
        offstage=tuple(_offstage(reader, world_id, who, limits.offstage)),
        digest=_digest(reader, world_id, viewers),
        lore=tuple(
            entry
            for entry in lore_entries(reader, world_id)
            if entry.enabled and (not entry.audience or _all(viewers, entry.audience))
        ),
        gone_props=_gone_props(world),
    )


def _all(viewers: Iterable[str], known_to: Iterable[str]) -> bool:
    return set(viewers) <= set(known_to)


def _name(world: World, who: str) -> str:
    if who == NARRATOR:
        return "the narrator"
    return world.name_of(who) or who


def _happened(
    reader: Reader, world_id: str, scene: Scene, most: int, without: str
) -> list[tuple[int, StoryMessage]]:
    """The newest messages of the scene, with their numbers in it.

    The first one moves on by a whole chunk at a time, so that prompts begin the same way.
    """
    count = count_messages(reader, world_id, scene.scene_id)
    first = max(0, -(-(count - most) // CHUNK) * CHUNK)
    limit = max(1, count - first)
    found = story_messages(reader, world_id, scene_id=scene.scene_id, limit=limit)
    return [
        (first + number, one)
        for number, one in enumerate(found)
        if one.counts and not one.hidden and one.message_id != without
    ]


def _were_there(reader: Reader, world_id: str, scene_id: str, viewers: tuple[str, ...]) -> bool:
    began = scene_entries(reader, world_id, scene_id, ("scene_opened",))
    return any(
        isinstance(one.event, e.SceneOpened) and _all(viewers, one.event.present) for one in began
    )


def _witnessed(reader: Reader, world_id: str, scene_id: str, viewers: tuple[str, ...]) -> bool:
    """Whether the viewers were there to the end: a summary is made for all who saw something."""
    summed = scene_entries(reader, world_id, scene_id, ("scene_summarised",))
    saw = {one.subject for one in summed}
    there = _were_there(reader, world_id, scene_id, viewers)
    return there and (not saw or _all(viewers, saw))


def _seen(world: World, whose: str, by: str) -> Activity:
    """An activity as another person sees it: what someone attends to is their own."""
    activity = world.activities.get(whose, Activity())
    return activity if whose == by else msgspec.structs.replace(activity, attention="")


def _summaries(reader: Reader, world_id: str, who: str, most: int) -> Iterable[KnownText]:
    for one in newest_entries(reader, world_id, "scene_summarised", who, limit=most):
        if isinstance(one.event, e.SceneSummarised):
            yield KnownText(one.event.text, (one.position,), one.scene_id)


def _offstage(reader: Reader, world_id: str, who: str, most: int) -> Iterable[KnownText]:
    for one in newest_entries(reader, world_id, "offstage_remembered", who, limit=most):
        if isinstance(one.event, s.OffstageRemembered):
            yield KnownText(one.event.text, (one.position,), one.event.clock)


def _digest(reader: Reader, world_id: str, viewers: tuple[str, ...]) -> KnownText | None:
    """The newest digest of a meanwhile-scene that the viewers were in."""
    for one in reversed(newest_entries(reader, world_id, "digest_recorded", limit=DIGESTS)):
        if isinstance(one.event, e.DigestRecorded) and _witnessed(
            reader, world_id, one.scene_id, viewers
        ):
            return KnownText(one.event.text, (one.position,), one.scene_id)
    return None


def _gone_props(world: World) -> tuple[str, ...]:
    """Props of events that ended, unless someone has one of that name now."""
    held = {name.casefold() for who in world.people for name in world.holding(who)}
    return tuple(name for name in world.gone_props if name.casefold() not in held)
