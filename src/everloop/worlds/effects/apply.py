"""From a reading to commands: pure, and limited to what those who witnessed the messages may know.

A reading of messages that everyone present witnessed may change the scene itself. One of a whisper
changes only what its witnesses feel, plan and know of.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from everloop.log import Command
from everloop.worlds.effects.names import find_people, find_person, find_title
from everloop.worlds.effects.schema import (
    ActivityReading,
    EventReading,
    PropReading,
    TurnReading,
)
from everloop.worlds.model import commands as c
from everloop.worlds.model import story_commands as s
from everloop.worlds.model.state import World
from everloop.worlds.model.story_events import Acquired
from everloop.worlds.model.values import Activity, Condition

NewId = Callable[[str], str]
HELD_MAX = 10


def effect_commands(
    world_id: str,
    world: World,
    reading: TurnReading,
    witnesses: tuple[str, ...],
    root: int,
    new_id: NewId,
) -> list[Command]:
    """What a reading leads to. `witnesses` are those who witnessed all that was read."""
    because = (root,)
    present = world.scene.present if world.scene else ()
    public = set(present) <= set(witnesses)
    commands: list[Command] = []
    if public and world.scene is not None:
        commands += _activities(world_id, world, reading, because)
        commands += _events(world_id, world, reading, because, new_id)
    else:
        commands += _secret_events(world_id, world, reading, witnesses, because, new_id)
    commands += _feelings(world_id, world, reading, witnesses, because)
    commands += _plots(world_id, world, reading, witnesses, because, new_id)
    if public and world.scene is not None:
        commands += _presence(world_id, world, reading, because)
    return commands


def later_commands(
    world_id: str, world: World, reading: TurnReading, witnesses: tuple[str, ...], root: int
) -> list[Command]:
    """What a reading of an older turn leads to: feelings add up, the situation is another now."""
    return list(_feelings(world_id, world, reading, witnesses, (root,)))


def _activities(
    world_id: str, world: World, reading: TurnReading, because: tuple[int, ...]
) -> Iterator[Command]:
    assert world.scene is not None
    for each in reading.activities:
        who = find_person(world, each.who)
        if who not in world.scene.present:
            continue
        if _changes_activity(each):
            activity = _activity(world, who, each)
            yield c.ChangeActivity(world_id, who, activity, because)
        if each.mood:
            known = world.conditions.get(who, Condition())
            condition = msgspec.structs.replace(known, mood=each.mood)
            yield c.ChangeCondition(world_id, who, condition, because)


def _changes_activity(each: ActivityReading) -> bool:
    return bool(each.where or each.doing or each.attention or each.holding is not None)


def _activity(world: World, who: str, each: ActivityReading) -> Activity:
    """The activity with what changed. Props are held by themselves, not by a name in a list."""
    known = world.activities.get(who, Activity())
    held = known.holding if each.holding is None else each.holding[:HELD_MAX]
    props = {prop.name.casefold() for prop in world.props.values()}
    return Activity(
        each.where or known.where,
        each.doing or known.doing,
        tuple(name for name in held if name.strip() and name.casefold() not in props),
        each.attention or known.attention,
        known.expression,
    )


def _feelings(
    world_id: str,
    world: World,
    reading: TurnReading,
    witnesses: tuple[str, ...],
    because: tuple[int, ...],
) -> Iterator[Command]:
    """Small changes of how witnesses feel. The player's own feelings are the player's."""
    for each in reading.feelings:
        source, target = find_person(world, each.source), find_person(world, each.target)
        known = source in world.cast and source in witnesses and target in witnesses
        if known and source != target and (each.affinity or each.trust):
            yield c.ShiftEdge(
                world_id, source, target, each.affinity, each.trust, each.why[:200], because
            )


def _events(
    world_id: str, world: World, reading: TurnReading, because: tuple[int, ...], new_id: NewId
) -> Iterator[Command]:
    """Events in their order: planned and started, then props, then those that ended.

    One that only some of those present know of is not what the others mean by its title: they
    plan their own.
    """
    assert world.scene is not None
    titles = _titles(world, world.scene.present)
    ended = [one for one in reading.events if one.change in ("completed", "cancelled")]
    for each in reading.events:
        if each in ended:
            continue
        key = find_title(titles, each.title)
        if not key:
            key = new_id("evt")
            titles[key] = each.title
            yield s.PlanEvent(world_id, key, each.title, each.gist, because=because)
        if each.change == "started":
            yield s.StartEvent(world_id, key, because)
    for prop in reading.props:
        yield from _prop(world_id, world, prop, titles, because, new_id)
    for each in ended:
        yield from _endings(world_id, world, each, titles, because)


def _endings(
    world_id: str,
    world: World,
    each: EventReading,
    titles: dict[str, str],
    because: tuple[int, ...],
) -> Iterator[Command]:
    """The end of an event that all know of, and of what some had planned by the same title.

    If there is none, the end of one that only some know of.
    """
    secret = {key: one.title for key, one in world.events.items() if key not in titles}
    if key := find_title(titles, each.title):
        yield _end(world_id, world, each, key, because)
        for other, title in secret.items():
            if title.casefold() == titles[key].casefold():
                yield s.CancelEvent(world_id, other, because=because)
    elif key := find_title(secret, each.title):
        yield _end(world_id, world, each, key, because)


def _secret_events(
    world_id: str,
    world: World,
    reading: TurnReading,
    witnesses: tuple[str, ...],
    because: tuple[int, ...],
    new_id: NewId,
) -> Iterator[Command]:
    """Events that were planned in a whisper, or that nobody else knows of, for its witnesses.

    One that others know of as well is left alone: it is a matter of the scene.
    """
    titles = _titles(world, witnesses)
    for each in reading.events:
        key = find_title(titles, each.title)
        if key and key in world.events and set(world.events[key].known_to) != set(witnesses):
            continue
        if each.change in ("completed", "cancelled"):
            if key:
                yield _end(world_id, world, each, key, because, witnesses)
            continue
        if not key:
            key = new_id("evt")
            titles[key] = each.title
            yield s.PlanEvent(
                world_id, key, each.title, each.gist, known_to=witnesses, because=because
            )
        if each.change == "started":
            yield s.StartEvent(world_id, key, because)


def _titles(world: World, who: Sequence[str]) -> dict[str, str]:
    """The titles of the events that these people all know of."""
    return {
        key: event.title for key, event in world.events.items() if set(who) <= set(event.known_to)
    }


def _end(
    world_id: str,
    world: World,
    each: EventReading,
    key: str,
    because: tuple[int, ...],
    witnesses: tuple[str, ...] = (),
) -> Command:
    if each.change == "cancelled":
        return s.CancelEvent(world_id, key, each.gist, because)
    kept = tuple(
        Acquired(one.name, holder)
        for one in each.keeps
        if (holder := find_person(world, one.holder)) and one.name.strip()
    )
    return s.CompleteEvent(world_id, key, each.gist, kept, because, witnesses)


def _prop(
    world_id: str,
    world: World,
    each: PropReading,
    titles: dict[str, str],
    because: tuple[int, ...],
    new_id: NewId,
) -> Iterator[Command]:
    """A prop belongs to the event that is named, or to the only one that is open."""
    names = {key: prop.name for key, prop in world.props.items()}
    holder = find_person(world, each.holder)
    if known := find_title(names, each.name):
        yield s.MoveProp(world_id, known, holder, each.where, because)
        return
    event = find_title(titles, each.event) or (next(iter(titles)) if len(titles) == 1 else "")
    if event:
        yield s.IntroduceProp(
            world_id, new_id("prp"), each.name, event, holder, each.where, because
        )


def _plots(
    world_id: str,
    world: World,
    reading: TurnReading,
    witnesses: tuple[str, ...],
    because: tuple[int, ...],
    new_id: NewId,
) -> Iterator[Command]:
    """Open threads, for those who witnessed it.

    One that only some of them know of is left alone: its title would tell the others of it.
    """
    titles = {
        key: plot.title for key, plot in world.plots.items() if set(witnesses) <= set(plot.known_to)
    }
    for each in reading.plots:
        key = find_title(titles, each.title)
        if not key and each.change != "closed":
            yield s.OpenPlot(world_id, new_id("plt"), each.title, each.summary, witnesses, because)
        elif key and each.change == "closed":
            yield s.ClosePlot(world_id, key, each.summary, because)
        elif key:
            yield s.UpdatePlot(world_id, key, each.summary, witnesses, because)


def _presence(
    world_id: str, world: World, reading: TurnReading, because: tuple[int, ...]
) -> Iterator[Command]:
    """Who left and who came. The player stays: only the player can leave."""
    assert world.scene is not None
    gone = set(find_people(world, reading.left)) & set(world.cast)
    came = set(find_people(world, reading.entered)) & set(world.cast)
    if not gone and not came - set(world.scene.present):
        return
    present = (set(world.scene.present) | came) - gone
    if present:
        yield c.ChangePresence(
            world_id, tuple(who for who in world.people if who in present), because
        )
