"""Deciders of what people do, how they are, and what they feel for each other."""

from everloop.errors import Conflict, Invalid
from everloop.log import DecisionContext, Draft
from everloop.worlds.model import commands as c
from everloop.worlds.model import events as e
from everloop.worlds.model.checks import (
    clean_line,
    derived,
    display_name,
    require_line,
    require_person,
    require_present,
    require_world,
)
from everloop.worlds.model.state import World
from everloop.worlds.model.values import Activity, Condition

SHIFT_MAX = 10  # of affinity and trust, in one turn
FACTS_MAX = 40  # that one person knows of another
GOALS_MAX = 10
HOLDING_MAX = 10


def change_activity(
    known: World | None, command: c.ChangeActivity, asking: DecisionContext
) -> list[Draft]:
    """Change where someone is and what they do. A slot that is full or blocked is refused."""
    world = require_world(known, command.world_id, asking)
    require_present(world, command.who)
    activity = _clean_activity(command.activity)
    _check_slot(world, command.who, activity.where)
    if world.activities.get(command.who) == activity:
        return []
    changed = e.ActivityChanged(command.world_id, command.who, activity)
    return derived(changed, command.because, world)


def _clean_activity(activity: Activity) -> Activity:
    if len(activity.holding) > HOLDING_MAX:
        raise Invalid(f"nobody holds more than {HOLDING_MAX} things", hint="Put some down.")
    return Activity(
        clean_line(activity.where, "where someone is"),
        clean_line(activity.doing, "what someone does"),
        tuple(require_line(each, "a thing that is held") for each in activity.holding),
        clean_line(activity.attention, "what someone attends to"),
        clean_line(activity.expression, "an expression"),
    )


def _check_slot(world: World, who: str, where: str) -> None:
    """A place without slots takes anyone anywhere; one with slots has room for so many in each."""
    place = world.places.get(world.scene.place_id) if world.scene else None
    if place is None or not place.slots or not where:
        return
    slot = place.slot(where)
    if slot is None:
        names = ", ".join(each.name for each in place.slots)
        raise Invalid(f"{place.name} has no {where!r}", hint=f"It has: {names}.")
    if slot.blocked:
        raise Conflict(f"nobody can get to {where!r}: {slot.blocked}", hint="Choose another slot.")
    others = [
        display_name(world, other)
        for other, activity in world.activities.items()
        if other != who and activity.where == where
    ]
    if len(others) >= slot.capacity:
        raise Conflict(f"{where!r} is taken by {' and '.join(others)}", hint="Choose another slot.")


def change_condition(
    known: World | None, command: c.ChangeCondition, asking: DecisionContext
) -> list[Draft]:
    """Change someone's mood, goals or status."""
    world = require_world(known, command.world_id, asking)
    require_person(world, command.who)
    told = command.condition
    if len(told.goals) > GOALS_MAX:
        raise Invalid(f"at most {GOALS_MAX} goals", hint="Name those that matter now.")
    condition = Condition(
        clean_line(told.mood, "a mood"),
        tuple(require_line(goal, "a goal") for goal in told.goals),
        clean_line(told.status, "a status"),
    )
    if world.conditions.get(command.who) == condition:
        return []
    changed = e.ConditionChanged(command.world_id, command.who, condition)
    return derived(changed, command.because, world)


def shift_edge(known: World | None, command: c.ShiftEdge, asking: DecisionContext) -> list[Draft]:
    """Move what someone feels a little: at most ten points at once."""
    world = require_world(known, command.world_id, asking)
    _check_pair(world, command.source, command.target)
    affinity, trust = _step(command.affinity), _step(command.trust)
    if not affinity and not trust:
        return []
    shifted = e.EdgeShifted(
        command.world_id,
        command.source,
        command.target,
        affinity,
        trust,
        clean_line(command.reason, "the reason"),
    )
    return derived(shifted, command.because, world)


def _step(change: int) -> int:
    return max(-SHIFT_MAX, min(SHIFT_MAX, change))


def rewrite_edge(
    known: World | None, command: c.RewriteEdge, asking: DecisionContext
) -> list[Draft]:
    """Summarise a relationship again, from one side."""
    world = require_world(known, command.world_id, asking)
    _check_pair(world, command.source, command.target)
    facts = tuple(dict.fromkeys(require_line(each, "a fact") for each in command.facts))
    summary = clean_line(command.summary, "the summary of a relationship")
    edge = world.edge(command.source, command.target)
    if (summary, facts[-FACTS_MAX:]) == (edge.summary, edge.facts):
        return []
    rewritten = e.EdgeRewritten(
        command.world_id, command.source, command.target, summary, facts[-FACTS_MAX:]
    )
    return derived(rewritten, command.because, world)


def rewrite_group(
    known: World | None, command: c.RewriteGroup, asking: DecisionContext
) -> list[Draft]:
    """Summarise again what the three are to each other."""
    world = require_world(known, command.world_id, asking)
    if len(world.cast) < 2:  # the player and two characters make a group
        raise Conflict("two people are no group", hint="Use the edges between them.")
    summary = clean_line(command.summary, "the summary of a group")
    if summary == world.group:
        return []
    return derived(e.GroupRewritten(command.world_id, summary), command.because, world)


def _check_pair(world: World, source: str, target: str) -> None:
    require_person(world, source)
    require_person(world, target)
    if source == target:
        raise Invalid("a relationship has two sides", hint="Name two people.")
