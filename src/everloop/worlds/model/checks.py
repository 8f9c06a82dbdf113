"""Checks that the deciders of worlds share. Pure."""

from collections.abc import Iterable
from datetime import UTC, datetime

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event
from everloop.worlds.model.state import Scene, World
from everloop.worlds.model.values import NARRATOR, PLAYER

TITLE_MAX = 200
NAME_MAX = 100
TEXT_MAX = 100_000
LINE_MAX = 2_000
ACTORS = ("user", "engine")


def require_world(known: World | None, world_id: str, asking: DecisionContext) -> World:
    """The world, if it exists and the caller may change it.

    Raises:
        NotFound: there is no such world.
        Forbidden: an agent asks; worlds are the player's.
    """
    actor = asking.by.actor
    if actor not in ACTORS and not actor.startswith("import:"):
        raise Forbidden(
            f"{actor!r} may not change a world", hint="Only the player changes worlds; ask them."
        )
    return existing_world(known, world_id)


def existing_world(known: World | None, world_id: str) -> World:
    """The world, if it exists.

    Raises:
        NotFound: there is no such world.
    """
    if known is None:
        raise NotFound(f"no world {world_id!r}", hint="`everloop worlds` lists them.")
    return known


def require_scene(world: World) -> Scene:
    """The open scene.

    Raises:
        Conflict: no scene is open.
    """
    if world.scene is None:
        raise Conflict("no scene is open", hint="Open a scene first: a place, and who is there.")
    return world.scene


def require_person(world: World, who: str) -> str:
    """Someone of the world: the player, or a character of the cast.

    Raises:
        NotFound: nobody of that id is in the cast.
    """
    if who not in world.people:
        names = ", ".join([PLAYER, *(f"{key} ({name})" for key, name in world.cast.items())])
        raise NotFound(f"{who!r} is not in this world", hint=f"In it are: {names}.")
    return who


def require_present(world: World, who: str) -> Scene:
    """The open scene, if someone is in it.

    Raises:
        Conflict: they are not there.
    """
    scene = require_scene(world)
    if require_person(world, who) not in scene.present:
        name = display_name(world, who)
        raise Conflict(f"{name} is not in this scene", hint=f"Let {name} enter first.")
    return scene


def require_people(world: World, people: Iterable[str]) -> tuple[str, ...]:
    """People of the world, each once, in the order of the cast."""
    named = {require_person(world, who) for who in people}
    return tuple(who for who in world.people if who in named)


def require_witnesses(world: World, people: Iterable[str]) -> tuple[str, ...]:
    """People who are or were in the world, each once, those of the cast first."""
    known = dict.fromkeys((*world.people, *world.former))
    named = {who if who in known else require_person(world, who) for who in people}
    return tuple(who for who in known if who in named)


def display_name(world: World, who: str) -> str:
    """How someone is called who is or was in the world."""
    return "The narrator" if who == NARRATOR else world.name_of(who) or who


def clean_line(text: str, what: str, most: int = LINE_MAX) -> str:
    """One line of text without surplus spaces.

    Raises:
        Invalid: it is too long.
    """
    line = " ".join(text.split())
    if len(line) > most:
        raise Invalid(f"{what} has at most {most:,} characters", hint="Shorten it.")
    return line


def require_line(text: str, what: str, most: int = LINE_MAX) -> str:
    """A line that is not empty.

    Raises:
        Invalid: it is empty or too long.
    """
    line = clean_line(text, what, most)
    if not line:
        raise Invalid(f"{what} is empty", hint="Write something.")
    return line


def parse_clock(text: str) -> datetime:
    """A time of the story.

    Raises:
        Invalid: it is not a time.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(
            f"{text!r} is not a time", hint="Write it as 2026-05-01T18:30 (ISO 8601)."
        ) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def derived(event: Event, because: tuple[int, ...], world: World) -> list[Draft]:
    """An event with what it follows from; at least, that there is a world."""
    return [Draft(event, because or (world.position,))]
