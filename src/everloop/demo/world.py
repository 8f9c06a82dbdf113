"""The world of the demo: twelve scenes, two characters and a picnic, by ordinary commands."""

import tomllib
from collections.abc import Iterator
from datetime import datetime
from importlib import resources

import msgspec

from everloop.app import USER, Engine
from everloop.demo.story import days_before
from everloop.log import Command
from everloop.worlds import (
    PLAYER,
    Acquired,
    CharacterSheet,
    ClosePlot,
    CloseScene,
    CompleteEvent,
    IntroduceProp,
    JumpTime,
    LoreEntry,
    Opening,
    OpenPlot,
    OpenScene,
    Place,
    PlanEvent,
    Readings,
    RecordDigest,
    SceneEffects,
    SetLoreEntry,
    ShiftEdge,
    StartEvent,
    SummariseScene,
    TurnEffects,
    WorldEffectsTask,
    WriteMessage,
    parse_message,
)
from everloop.worlds.model.commands import DefinePlace, JoinCast

EVENING = 18  # o'clock, when scenes begin
PLOT = "logbook"


class DemoCharacter(msgspec.Struct, frozen=True):
    """A character of the world."""

    key: str
    name: str
    description: str
    personality: str
    traits: tuple[str, ...]
    greetings: tuple[str, ...]


class DemoLore(msgspec.Struct, frozen=True):
    """A lore entry; without an audience, everyone knows it."""

    title: str
    keys: tuple[str, ...]
    content: str
    audience: tuple[str, ...] = ()


class DemoScene(msgspec.Struct, frozen=True):
    """A scene: what is said, how feelings move, and what each witness remembers."""

    days_ago: int
    place: str
    premise: str
    present: tuple[str, ...]
    lines: tuple[str, ...]
    edges: tuple[str, ...]
    seen: dict[str, str]
    plan: str = ""
    start: str = ""
    props: tuple[str, ...] = ()
    complete: str = ""
    plot: str = ""
    close_plot: str = ""
    digest: str = ""
    open: bool = False


class DemoWorld(msgspec.Struct, frozen=True):
    """The whole story."""

    title: str
    player: str
    about: str
    character: tuple[DemoCharacter, ...]
    lore: tuple[DemoLore, ...]
    scene: tuple[DemoScene, ...]


def load_world(engine: Engine, now: datetime) -> str:
    """Play the story of the demo on days relative to `now`, and return the id of its world.

    What follows from it is made by rules at once, so that looking around costs no model call.
    """
    text = resources.files("everloop.demo").joinpath("world.toml").read_text(encoding="utf-8")
    story = msgspec.convert(tomllib.loads(text), DemoWorld)
    world_id = _Player(engine, story, now).play()
    worlds = engine.worlds
    settings = msgspec.structs.replace(worlds.settings, interjections=0)
    parts = (engine.log, engine, Readings(lambda: None, settings), worlds.memories, settings)
    WorldEffectsTask(engine.log, TurnEffects(*parts), SceneEffects(*parts)).catch_up()
    return world_id


class _Player:
    def __init__(self, engine: Engine, story: DemoWorld, now: datetime) -> None:
        self._engine, self._story, self._now = engine, story, now
        self._world_id = ""
        self._people = {PLAYER: PLAYER}

    def play(self) -> str:
        """Play every scene."""
        for one in self._story.character:
            sheet = CharacterSheet(
                one.name,
                one.description,
                one.personality,
                traits=one.traits,
                greetings=one.greetings,
            )
            self._people[one.key] = self._engine.worlds.author(sheet, USER)
        self._open()
        for number, scene in enumerate(self._story.scene):
            self._engine.do_many(list(self._scene(number, scene)), by=USER)
        return self._world_id

    def _open(self) -> None:
        first, *_ = self._story.scene
        cast = tuple(self._people[one.key] for one in self._story.character)
        opening = Opening(
            self._story.title,
            self._story.player,
            self._clock(first),
            Place(first.place, first.place),
            cast[-1:],
            self._story.about,
            first.premise,
        )
        self._world_id = self._engine.worlds.open(opening, USER)
        commands: list[Command] = [JoinCast(self._world_id, cast[0], self._story.character[0].name)]
        for number, lore in enumerate(self._story.lore):
            people = tuple(self._people[each] for each in lore.audience)
            entry = LoreEntry(
                f"lore-{number}", lore.content, lore.title, lore.keys, audience=people
            )
            commands.append(SetLoreEntry(self._world_id, entry))
        self._engine.do_many(commands, by=USER)

    def _scene(self, number: int, scene: DemoScene) -> Iterator[Command]:
        world, scene_id = self._world_id, f"demo-scene-{number + 1}"
        present = tuple(self._people[each] for each in scene.present)
        if number == 0:
            known = self._engine.worlds.world(world).scene
            assert known is not None, "the world opens with its first scene"
            scene_id = known.scene_id
        else:
            yield JumpTime(world, self._clock(scene))
            yield DefinePlace(world, Place(scene.place, scene.place))
            yield OpenScene(world, scene_id, scene.place, present, scene.premise)
        yield from self._events(scene)
        for line, text in enumerate(scene.lines):
            who, _, words = text.partition("|")
            message_id = f"demo-{number + 1}-{line + 1}"
            speaker = self._people[who]
            yield WriteMessage(world, message_id, speaker, words, parse_message(words))
        yield from self._effects(scene)
        if not scene.open:
            yield CloseScene(world, scene_id, "the evening ended")
            for who, seen in scene.seen.items():
                yield SummariseScene(world, scene_id, self._people[who], seen)
            if scene.digest:
                yield RecordDigest(world, scene_id, scene.digest)

    def _events(self, scene: DemoScene) -> Iterator[Command]:
        world = self._world_id
        if scene.plan:
            event_id, title, gist = scene.plan.split("|")
            yield PlanEvent(world, event_id, title, gist)
        if scene.plot:
            title, summary = scene.plot.split("|")
            yield OpenPlot(world, PLOT, title, summary)
        if scene.start:
            yield StartEvent(world, scene.start)
        for prop in scene.props:
            prop_id, name, holder = prop.split("|")
            yield IntroduceProp(world, prop_id, name, scene.start, self._people.get(holder, ""))

    def _effects(self, scene: DemoScene) -> Iterator[Command]:
        world = self._world_id
        for edge in scene.edges:
            pair, affinity, trust, reason = edge.split(" ", 3)
            source, _, target = pair.partition(">")
            feeling = (int(affinity), int(trust), reason)
            yield ShiftEdge(world, self._people[source], self._people[target], *feeling)
        if scene.complete:
            event_id, gist, kept = scene.complete.split("|")
            name, _, holder = kept.partition(">")
            acquired = (Acquired(name, self._people[holder]),)
            yield CompleteEvent(world, event_id, gist, acquired)
        if scene.close_plot:
            yield ClosePlot(world, PLOT, scene.close_plot)

    def _clock(self, scene: DemoScene) -> str:
        return days_before(self._now, scene.days_ago, hour=EVENING).isoformat()
