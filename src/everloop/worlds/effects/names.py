"""Who is meant by a name that a model wrote. Pure."""

from collections.abc import Iterable

from everloop.worlds.model.state import World
from everloop.worlds.model.values import PLAYER

AS_PLAYER = ("you", "player", "the player", "user")


def find_person(world: World, name: str) -> str:
    """The id of the person with a name, or its first word; empty if nobody or several have it."""
    said = name.strip().casefold()
    if not said:
        return ""
    if said in AS_PLAYER:
        return PLAYER
    people = {PLAYER: world.player_name, **world.cast}
    if name in people:
        return name
    exact = [who for who, full in people.items() if full.casefold() == said]
    first = [who for who, full in people.items() if said in full.casefold().split()]
    found = exact or first
    return found[0] if len(found) == 1 else ""


def find_people(world: World, names: Iterable[str]) -> tuple[str, ...]:
    """The people with these names, those that are known."""
    return tuple(filter(None, (find_person(world, name) for name in names)))


def find_title(titles: dict[str, str], title: str) -> str:
    """The key of a title: equal, or the only one that has it in it or is in it."""
    said = title.strip().casefold()
    if not said:
        return ""
    exact = [key for key, each in titles.items() if each.casefold() == said]
    if exact:
        return exact[0]
    near = [
        key for key, each in titles.items() if said in each.casefold() or each.casefold() in said
    ]
    return near[0] if len(near) == 1 else ""
