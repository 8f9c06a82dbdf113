"""Deciders of worlds, casts, places and scenes."""

from collections.abc import Iterator

from everloop.errors import Conflict, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event
from everloop.worlds.model import commands as c
from everloop.worlds.model import events as e
from everloop.worlds.model.checks import (
    NAME_MAX,
    TITLE_MAX,
    clean_line,
    derived,
    display_name,
    parse_clock,
    require_line,
    require_people,
    require_scene,
    require_world,
)
from everloop.worlds.model.state import World
from everloop.worlds.model.values import PLAYER, Edge, Place, Style

CAST_MAX = 2
DIGEST_MAX = 200
SLOTS_MAX = 50
SUMMARY_MAX = 4_000


# -- the world -------------------------------------------------------------------------------------


def open_world(known: World | None, command: c.OpenWorld, _: DecisionContext) -> list[Draft]:
    """Begin a world. Idempotent: a world that exists stays as it is."""
    if known is not None:
        return []
    opened = e.WorldOpened(
        command.world_id,
        require_line(command.title, "a title", TITLE_MAX),
        require_line(command.player_name, "your name in the world", NAME_MAX),
        command.player_description.strip(),
        parse_clock(command.clock).isoformat(),
    )
    return [Draft(opened, command.because)]


def rename_world(
    known: World | None, command: c.RenameWorld, asking: DecisionContext
) -> list[Draft]:
    """Give a world another title."""
    world = require_world(known, command.world_id, asking)
    title = require_line(command.title, "a title", TITLE_MAX)
    renamed = e.WorldRenamed(command.world_id, title)
    return [] if title == world.title else derived(renamed, (), world)


def archive_world(
    known: World | None, command: c.ArchiveWorld, asking: DecisionContext
) -> list[Draft]:
    """Archive a world."""
    world = require_world(known, command.world_id, asking)
    return [] if world.archived else derived(e.WorldArchived(command.world_id), (), world)


def restore_world(
    known: World | None, command: c.RestoreWorld, asking: DecisionContext
) -> list[Draft]:
    """Restore an archived world."""
    world = require_world(known, command.world_id, asking)
    return derived(e.WorldRestored(command.world_id), (), world) if world.archived else []


def set_style(known: World | None, command: c.SetStyle, asking: DecisionContext) -> list[Draft]:
    """Change how a world is told."""
    world = require_world(known, command.world_id, asking)
    _check_style(command.style)
    told = e.StyleSet(command.world_id, command.style)
    return [] if command.style == world.style else derived(told, (), world)


def set_author_note(
    known: World | None, command: c.SetAuthorNote, asking: DecisionContext
) -> list[Draft]:
    """Change the author's note."""
    world = require_world(known, command.world_id, asking)
    if not 0 <= command.note.depth <= 100:
        raise Invalid("the depth of a note is 0 to 100 messages", hint="4 is usual.")
    told = e.AuthorNoteSet(command.world_id, command.note)
    return [] if command.note == world.note else derived(told, (), world)


def _check_style(style: Style) -> None:
    if not 16 <= style.reply_tokens <= 8_000:
        raise Invalid("a reply has 16 to 8,000 tokens", hint="400 is usual.")
    if not 0 <= style.temperature <= 2:
        raise Invalid("a temperature is 0 to 2", hint="0.85 is usual.")
    if not 0 <= style.own_prose_share <= 1:
        raise Invalid("a share is 0 to 1", hint="0.5 is usual.")


# -- the cast --------------------------------------------------------------------------------------


def join_cast(known: World | None, command: c.JoinCast, asking: DecisionContext) -> list[Draft]:
    """Add a character to the cast, in place of another if two are in it.

    How it met the others is how their relationships begin; those that there are stay.
    """
    world = require_world(known, command.world_id, asking)
    if command.character_id in world.cast:
        return []
    leaving = _make_room(world, command)
    joined = e.CastJoined(
        command.world_id,
        command.character_id,
        require_line(command.name, "a character's name", NAME_MAX),
        command.met.strip(),
    )
    return [
        *leaving,
        *derived(joined, command.because, world),
        *(Draft(edge, beside=(len(leaving),)) for edge in _first_edges(world, command)),
    ]


def _first_edges(world: World, command: c.JoinCast) -> Iterator[e.EdgeRewritten]:
    """What a character and the others are to each other, as far as nothing is known of it."""
    met = clean_line(command.met, "how they met")
    others = [who for who in world.people if who != command.replaces]
    for other in others if met else ():
        for source, target in ((command.character_id, other), (other, command.character_id)):
            if world.edge(source, target) == Edge():
                yield e.EdgeRewritten(command.world_id, source, target, met, ())


def _make_room(world: World, command: c.JoinCast) -> list[Draft]:
    if len(world.cast) < CAST_MAX and not command.replaces:
        return []
    if command.replaces not in world.cast:
        names = " or ".join(f"{key} ({name})" for key, name in world.cast.items())
        raise Conflict(
            f"a world has room for you and {CAST_MAX} characters, and {len(world.cast)} are in it",
            hint=f"Choose whom {command.name} replaces: {names}.",
        )
    if world.scene is not None and command.replaces in world.scene.present:
        name = display_name(world, command.replaces)
        raise Conflict(f"{name} is in the open scene", hint=f"Let {name} leave, or close it.")
    return derived(e.CastLeft(command.world_id, command.replaces), command.because, world)


def leave_cast(known: World | None, command: c.LeaveCast, asking: DecisionContext) -> list[Draft]:
    """Take a character out of the cast; in a scene, that closes it and opens another without it."""
    world = require_world(known, command.world_id, asking)
    if command.character_id not in world.cast:
        return []
    left = e.CastLeft(command.world_id, command.character_id)
    scene = world.scene
    if scene is None or command.character_id not in scene.present:
        return derived(left, (), world)
    if not command.next_scene_id:
        raise Invalid("the next scene has no id", hint="Give one for the scene that follows.")
    name = display_name(world, command.character_id)
    rest = tuple(who for who in scene.present if who != command.character_id)
    closed = e.SceneClosed(command.world_id, scene.scene_id, f"{name} left")
    happened: list[Event] = [closed, left]
    if rest:
        happened.append(
            e.SceneOpened(
                command.world_id,
                command.next_scene_id,
                scene.place_id,
                rest,
                scene.premise if set(rest) <= set(scene.premise_known_to) else "",
                scene.weather,
            )
        )
    return [Draft(each, (scene.position,)) for each in happened]


# -- places and scenes -----------------------------------------------------------------------------


def define_place(
    known: World | None, command: c.DefinePlace, asking: DecisionContext
) -> list[Draft]:
    """Add a place, or change its description."""
    world, place = require_world(known, command.world_id, asking), command.place
    require_line(place.place_id, "a place's id", NAME_MAX)
    require_line(place.name, "a place's name", NAME_MAX)
    _check_slots(place)
    if world.places.get(place.place_id) == place:
        return []
    return derived(e.PlaceDefined(command.world_id, place), command.because, world)


def _check_slots(place: Place) -> None:
    names = [slot.name for slot in place.slots]
    if len(names) > SLOTS_MAX or len(set(names)) != len(names) or not all(names):
        raise Invalid(
            f"the slots of {place.name!r} need names of their own, at most {SLOTS_MAX}",
            hint="Name each slot once, for example: driver, passenger, back seat.",
        )
    if any(slot.capacity < 1 for slot in place.slots):
        raise Invalid("a slot holds at least one person", hint="Give it a capacity of 1 or more.")


def open_scene(known: World | None, command: c.OpenScene, asking: DecisionContext) -> list[Draft]:
    """Begin a scene at a place, with some of the cast."""
    world = require_world(known, command.world_id, asking)
    if world.scene is not None and world.scene.scene_id == command.scene_id:
        return []
    _check_new_scene(world, command)
    present = require_people(world, command.present)
    if not present:
        raise Invalid("nobody is in the scene", hint="Name at least one person.")
    opened = e.SceneOpened(
        command.world_id,
        command.scene_id,
        command.place_id,
        present,
        command.premise.strip(),
        clean_line(command.weather, "the weather"),
    )
    return derived(opened, command.because, world)


def _check_new_scene(world: World, command: c.OpenScene) -> None:
    if world.scene is not None:
        raise Conflict("a scene is open", hint="Close it first.")
    if command.scene_id in world.closed_scenes:
        raise Conflict(f"scene {command.scene_id!r} was closed", hint="Use a new id.")
    if command.place_id not in world.places:
        places = ", ".join(world.places) or "none yet"
        raise NotFound(f"no place {command.place_id!r}", hint=f"Places: {places}.")


def describe_scene(
    known: World | None, command: c.DescribeScene, asking: DecisionContext
) -> list[Draft]:
    """Change the premise or the weather of the open scene."""
    world = require_world(known, command.world_id, asking)
    scene = require_scene(world)
    premise = scene.premise if command.premise is None else command.premise.strip()
    weather = (
        scene.weather if command.weather is None else clean_line(command.weather, "the weather")
    )
    if (premise, weather) == (scene.premise, scene.weather):
        return []
    told = e.SceneDescribed(command.world_id, scene.scene_id, premise, weather)
    return [Draft(told, (scene.position,))]


def change_presence(
    known: World | None, command: c.ChangePresence, asking: DecisionContext
) -> list[Draft]:
    """Say who is in the open scene from now on."""
    world = require_world(known, command.world_id, asking)
    scene, present = require_scene(world), require_people(world, command.present)
    if not present:
        raise Invalid("nobody would be in the scene", hint="Close it instead.")
    if present == scene.present:
        return []
    changed = e.PresenceChanged(command.world_id, scene.scene_id, present)
    return [Draft(changed, command.because or (scene.position,))]


def close_scene(known: World | None, command: c.CloseScene, asking: DecisionContext) -> list[Draft]:
    """End the open scene. Idempotent: a scene that was closed stays closed."""
    world = require_world(known, command.world_id, asking)
    if command.scene_id in world.closed_scenes:
        return []
    scene = require_scene(world)
    if scene.scene_id != command.scene_id:
        raise NotFound(f"no scene {command.scene_id!r} is open", hint="Another scene is open now.")
    if world.turn is not None:
        raise Conflict("someone is still speaking", hint="Wait for the reply, or stop it.")
    reason = clean_line(command.reason, "the reason")
    closed = e.SceneClosed(command.world_id, scene.scene_id, reason)
    return [Draft(closed, command.because or (scene.position,))]


def summarise_scene(
    known: World | None, command: c.SummariseScene, asking: DecisionContext
) -> list[Draft]:
    """Record a closed scene as one witness saw it."""
    world = require_world(known, command.world_id, asking)
    _require_closed(world, command.scene_id)
    if command.witness != PLAYER:
        require_line(command.witness, "the witness", NAME_MAX)
    summary = e.SceneSummarised(
        command.world_id,
        command.scene_id,
        command.witness,
        require_line(command.text, "a summary", SUMMARY_MAX),
        tuple(require_line(each, "a fact") for each in command.learned),
        clean_line(command.relationship, "the relationship"),
    )
    return derived(summary, command.because, world)


def record_digest(
    known: World | None, command: c.RecordDigest, asking: DecisionContext
) -> list[Draft]:
    """Record what a meanwhile-scene comes to."""
    world = require_world(known, command.world_id, asking)
    _require_closed(world, command.scene_id)
    text = require_line(command.text, "a digest", DIGEST_MAX)
    return derived(
        e.DigestRecorded(command.world_id, command.scene_id, text), command.because, world
    )


def _require_closed(world: World, scene_id: str) -> None:
    if scene_id not in world.closed_scenes:
        raise Conflict(f"scene {scene_id!r} is not closed", hint="Close it first.")
