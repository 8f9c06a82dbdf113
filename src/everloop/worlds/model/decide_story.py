"""Deciders of the story: events with their props, plot threads, time and lore."""

from collections.abc import Collection
from datetime import timedelta

from everloop.errors import Conflict, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event
from everloop.worlds.model import events as e
from everloop.worlds.model import story_commands as c
from everloop.worlds.model import story_events as s
from everloop.worlds.model.checks import (
    NAME_MAX,
    TITLE_MAX,
    clean_line,
    derived,
    parse_clock,
    require_line,
    require_people,
    require_person,
    require_scene,
    require_world,
)
from everloop.worlds.model.state import Lore, StoryEvent, World
from everloop.worlds.model.values import Prop

EVENTS_MAX = 50  # open at once
PROPS_MAX = 200
PLOTS_MAX = 50
LORE_MAX = 2_000
LORE_CONTENT_MAX = 150_000
MINUTES_MAX = 60 * 24 * 365 * 100


# -- events and props ------------------------------------------------------------------------------


def plan_event(known: World | None, command: c.PlanEvent, asking: DecisionContext) -> list[Draft]:
    """Plan a story event."""
    world = require_world(known, command.world_id, asking)
    if command.event_id in world.events or command.event_id in world.ended_events:
        return []
    if len(world.events) >= EVENTS_MAX:
        raise Conflict(f"{EVENTS_MAX} events are open", hint="Complete or cancel some first.")
    if command.trigger.at:
        parse_clock(command.trigger.at)
    planned = s.EventPlanned(
        command.world_id,
        command.event_id,
        require_line(command.title, "a title", TITLE_MAX),
        clean_line(command.gist, "the gist"),
        command.trigger,
        _audience(world, command.known_to),
    )
    return derived(planned, command.because, world)


def start_event(known: World | None, command: c.StartEvent, asking: DecisionContext) -> list[Draft]:
    """Let a planned event happen."""
    world = require_world(known, command.world_id, asking)
    event = _require_event(world, command.event_id)
    started = s.EventStarted(command.world_id, command.event_id)
    return [] if event.status == "active" else _of_event(event, started, command.because)


def complete_event(
    known: World | None, command: c.CompleteEvent, asking: DecisionContext
) -> list[Draft]:
    """End an event that happened. Its props are gone, except what someone acquired."""
    world = require_world(known, command.world_id, asking)
    event = _require_event(world, command.event_id)
    for each in command.acquired:
        require_person(world, each.holder)
        require_line(each.name, "an acquired object", NAME_MAX)
    gist = clean_line(command.gist, "the gist")
    there = (world.scene.present if world.scene else ()) or event.known_to
    if command.witnesses:
        there = require_people(world, command.witnesses)
    completed = s.EventCompleted(
        command.world_id,
        command.event_id,
        gist or event.gist,
        command.acquired,
        there if gist else tuple(who for who in there if who in event.known_to),
    )
    return _of_event(event, completed, command.because)


def cancel_event(
    known: World | None, command: c.CancelEvent, asking: DecisionContext
) -> list[Draft]:
    """Call an event off."""
    world = require_world(known, command.world_id, asking)
    event = _require_event(world, command.event_id)
    reason = clean_line(command.reason, "the reason")
    cancelled = s.EventCancelled(command.world_id, command.event_id, reason)
    return _of_event(event, cancelled, command.because)


def expire_event(
    known: World | None, command: c.ExpireEvent, asking: DecisionContext
) -> list[Draft]:
    """End a planned event whose time went by."""
    world = require_world(known, command.world_id, asking)
    event = _require_event(world, command.event_id)
    if event.status != "planned":
        raise Conflict(f"{event.title!r} is happening", hint="Complete it, or cancel it.")
    expired = s.EventExpired(command.world_id, command.event_id)
    return _of_event(event, expired, command.because)


def introduce_prop(
    known: World | None, command: c.IntroduceProp, asking: DecisionContext
) -> list[Draft]:
    """Bring in an object, as part of an open event."""
    world = require_world(known, command.world_id, asking)
    if command.prop_id in world.props:
        return []
    event = _require_event(world, command.event_id)
    if len(world.props) >= PROPS_MAX:
        raise Conflict(f"{PROPS_MAX} props are in play", hint="Complete an event first.")
    if command.holder:
        require_person(world, command.holder)
    prop = Prop(
        command.prop_id,
        require_line(command.name, "a prop", NAME_MAX),
        command.event_id,
        command.holder,
        clean_line(command.where, "where it is"),
    )
    introduced = s.PropIntroduced(command.world_id, prop)
    return _of_event(event, introduced, command.because)


def move_prop(known: World | None, command: c.MoveProp, asking: DecisionContext) -> list[Draft]:
    """Give an object to someone, or put it somewhere."""
    world = require_world(known, command.world_id, asking)
    prop = world.props.get(command.prop_id)
    if prop is None:
        raise NotFound(
            f"no prop {command.prop_id!r} is in play",
            hint="Props go when their event ends, unless someone acquired them.",
        )
    if command.holder:
        require_person(world, command.holder)
    where = clean_line(command.where, "where it is")
    if (prop.holder, prop.where) == (command.holder, where):
        return []
    moved = s.PropMoved(command.world_id, command.prop_id, command.holder, where)
    return _of_event(world.events[prop.event_id], moved, command.because)


def drop_belonging(
    known: World | None, command: c.DropBelonging, asking: DecisionContext
) -> list[Draft]:
    """Take an acquired object from its holder."""
    world = require_world(known, command.world_id, asking)
    if command.name not in world.belongings.get(command.holder, ()):
        raise NotFound(
            f"{command.holder!r} has no {command.name!r}", hint="Look at what they have."
        )
    dropped = s.BelongingDropped(command.world_id, command.holder, command.name)
    return derived(dropped, command.because, world)


def _require_event(world: World, event_id: str) -> StoryEvent:
    event = world.events.get(event_id)
    if event is not None:
        return event
    if event_id in world.ended_events:
        raise Conflict(
            f"event {event_id!r} is {world.ended_events[event_id]}",
            hint="An event ends once; plan another, or go back to before it.",
        )
    raise NotFound(f"no event {event_id!r}", hint="Plan it first.")


def _of_event(event: StoryEvent, happened: Event, because: tuple[int, ...]) -> list[Draft]:
    return [Draft(happened, tuple(dict.fromkeys((event.position, *because))))]


def _audience(world: World, known_to: tuple[str, ...]) -> tuple[str, ...]:
    """Those who are named, or else everyone present, or else everyone."""
    if known_to:
        return require_people(world, known_to)
    return world.scene.present if world.scene else world.people


# -- plot threads ----------------------------------------------------------------------------------


def open_plot(known: World | None, command: c.OpenPlot, asking: DecisionContext) -> list[Draft]:
    """Note something unresolved."""
    world = require_world(known, command.world_id, asking)
    if command.plot_id in world.plots or command.plot_id in world.closed_plots:
        return []
    if len(world.plots) >= PLOTS_MAX:
        raise Conflict(f"{PLOTS_MAX} plot threads are open", hint="Close some first.")
    opened = s.PlotOpened(
        command.world_id,
        command.plot_id,
        require_line(command.title, "a title", TITLE_MAX),
        clean_line(command.summary, "the summary"),
        _audience(world, command.known_to),
    )
    return derived(opened, command.because, world)


def update_plot(known: World | None, command: c.UpdatePlot, asking: DecisionContext) -> list[Draft]:
    """Note how a plot thread went on. Only those who are named or present learn of it."""
    world = require_world(known, command.world_id, asking)
    plot = world.plots.get(command.plot_id)
    if plot is None:
        raise NotFound(f"no plot thread {command.plot_id!r} is open", hint="Open it first.")
    updated = s.PlotUpdated(
        command.world_id,
        command.plot_id,
        clean_line(command.summary, "the summary"),
        _audience(world, command.known_to),
    )
    return derived(updated, (plot.position, *command.because), world)


def close_plot(known: World | None, command: c.ClosePlot, asking: DecisionContext) -> list[Draft]:
    """Note how a plot thread was resolved."""
    world = require_world(known, command.world_id, asking)
    plot = world.plots.get(command.plot_id)
    if plot is None:
        if command.plot_id in world.closed_plots:
            return []
        raise NotFound(f"no plot thread {command.plot_id!r} is open", hint="Open it first.")
    outcome = clean_line(command.outcome, "the outcome")
    closed = s.PlotClosed(command.world_id, command.plot_id, outcome)
    return derived(closed, (plot.position, *command.because), world)


# -- time ------------------------------------------------------------------------------------------


def elide_time(known: World | None, command: c.ElideTime, asking: DecisionContext) -> list[Draft]:
    """Let minutes go by inside the open scene; scene and cast stay."""
    world = require_world(known, command.world_id, asking)
    scene = require_scene(world)
    if not 1 <= command.minutes <= MINUTES_MAX:
        raise Invalid("time goes forward", hint="Give at least one minute.")
    clock = parse_clock(world.clock) + timedelta(minutes=command.minutes)
    narration = clean_line(command.narration, "the narration")
    elided = s.TimeElided(command.world_id, clock.isoformat(), narration)
    return [Draft(elided, command.because or (scene.position,))]


def jump_time(known: World | None, command: c.JumpTime, asking: DecisionContext) -> list[Draft]:
    """Go on at a later time. An open scene is closed; planned events whose time went by expire."""
    world = require_world(known, command.world_id, asking)
    to = parse_clock(command.to)
    if to <= parse_clock(world.clock):
        raise Invalid("time goes forward", hint="To go back, rewind the world to that moment.")
    if world.turn is not None:
        raise Conflict("someone is still speaking", hint="Wait for the reply, or stop it.")
    happened: list[Event] = []
    if world.scene is not None:
        happened.append(e.SceneClosed(command.world_id, world.scene.scene_id, "time went by"))
    narration = clean_line(command.narration, "the narration")
    happened.append(s.TimeJumped(command.world_id, to.isoformat(), narration))
    happened += [
        s.EventExpired(command.world_id, event_id)
        for event_id, event in world.events.items()
        if event.status == "planned" and event.trigger.at and parse_clock(event.trigger.at) < to
    ]
    return [Draft(each, command.because or (world.position,)) for each in happened]


def remember_offstage(
    known: World | None, command: c.RememberOffstage, asking: DecisionContext
) -> list[Draft]:
    """Record what one person did and saw during a jump."""
    world = require_world(known, command.world_id, asking)
    require_person(world, command.witness)
    remembered = s.OffstageRemembered(
        command.world_id,
        command.witness,
        require_line(command.text, "an off-stage memory"),
        world.clock,
    )
    return derived(remembered, command.because, world)


# -- lore ------------------------------------------------------------------------------------------


def set_lore_entry(known: Lore | None, command: c.SetLoreEntry, _: DecisionContext) -> list[Draft]:
    """Add a lore entry, or change it."""
    check_lore_entry(command.entry, (known or Lore()).entries)
    return [Draft(s.LoreEntrySet(command.world_id, command.entry), command.because)]


def check_lore_entry(entry: s.LoreEntry, known: Collection[str]) -> None:
    """Check that a world with these entries can have another, or another text of one of them.

    Raises:
        Rejected: there are too many, or it is too long.
    """
    require_line(entry.entry_id, "a lore entry's id", NAME_MAX)
    if entry.entry_id not in known and len(known) >= LORE_MAX:
        raise Conflict(f"a world has at most {LORE_MAX:,} lore entries", hint="Remove some.")
    if len(entry.content) > LORE_CONTENT_MAX:
        raise Invalid(
            f"a lore entry has at most {LORE_CONTENT_MAX:,} characters", hint="Split it up."
        )


def remove_lore_entry(
    known: Lore | None, command: c.RemoveLoreEntry, _: DecisionContext
) -> list[Draft]:
    """Remove a lore entry."""
    position = (known or Lore()).entries.get(command.entry_id)
    removed = s.LoreEntryRemoved(command.world_id, command.entry_id)
    return [Draft(removed, (position,))] if position else []
