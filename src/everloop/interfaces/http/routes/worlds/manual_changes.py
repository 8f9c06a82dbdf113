"""Routes that change the simulation by hand: people, edges, events, props, plots and lore."""

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter
from pydantic import BaseModel, Field

from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.routes.worlds.idempotency import PlayerDep, RemoverDep
from everloop.interfaces.http.routes.worlds.library import Line, Lines, Name
from everloop.interfaces.http.routes.worlds.responses import carry_out, world_out
from everloop.interfaces.http.routes.worlds.scenes import BranchName, People
from everloop.interfaces.http.schemas.request import Body
from everloop.interfaces.http.schemas.worlds import LoreOut, WorldOut
from everloop.log import Command
from everloop.worlds import (
    Acquired,
    Activity,
    CancelEvent,
    ChangeActivity,
    ChangeCondition,
    ClosePlot,
    CompleteEvent,
    Condition,
    DropBelonging,
    IntroduceProp,
    LoreEntry,
    MoveProp,
    OpenPlot,
    PlanEvent,
    RemoveLoreEntry,
    RewriteEdge,
    RewriteGroup,
    SetLoreEntry,
    ShiftEdge,
    StartEvent,
    Trigger,
    UpdatePlot,
    lore_entries,
)

router = APIRouter(prefix="/api/worlds/{world_id}", responses=ERROR_RESPONSES, tags=["worlds"])

Id = Annotated[str, Field(max_length=100)]


class ActivityIn(Body):
    """What someone does now: where, what, holding what, attending to what."""

    where: Line = ""
    doing: Line = ""
    holding: Annotated[tuple[Line, ...], Field(max_length=10)] = ()
    attention: Line = ""
    expression: Line = ""


class ConditionIn(Body):
    """How someone is: mood, goals, and what is the matter with them."""

    mood: Line = ""
    goals: Annotated[tuple[Line, ...], Field(max_length=10)] = ()
    status: Line = ""


class EdgeIn(Body):
    """A change of what someone feels: a step of at most ten points, or a new summary."""

    affinity: Annotated[int, Field(ge=-10, le=10)] = 0
    trust: Annotated[int, Field(ge=-10, le=10)] = 0
    reason: Line = ""
    summary: Line | None = None
    facts: Annotated[tuple[Line, ...], Field(max_length=40)] = ()


class GroupIn(Body):
    """What the three are to each other."""

    summary: Line


class EventIn(Body):
    """A story event to plan. Without `known_to`, everyone present knows of it."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    gist: Line = ""
    known_to: People = ()
    at: Annotated[str, Field(max_length=40)] = ""
    place_id: Id = ""
    present: People = ()
    start: bool = False


class AcquiredIn(BaseModel):
    """An object that someone keeps."""

    name: Name
    holder: Id


class EventStepIn(Body):
    """What becomes of an event; of its props, only what is acquired stays."""

    step: Literal["start", "complete", "cancel"]
    gist: Line = ""
    reason: Line = ""
    acquired: Annotated[tuple[AcquiredIn, ...], Field(max_length=50)] = ()


class PropIn(Body):
    """An object that an open event brings in."""

    name: Name
    event_id: Id
    holder: Id = ""
    where: Line = ""


class PropMoveIn(Body):
    """Who has an object now, or where it lies."""

    holder: Id = ""
    where: Line = ""


class PlotIn(Body):
    """Something unresolved."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    summary: Line = ""
    known_to: People = ()


class PlotStepIn(Body):
    """How a plot thread went on, or how it was resolved."""

    step: Literal["update", "close"]
    text: Line = ""
    known_to: People = ()


class LoreIn(Body):
    """A lore entry; without an audience, everyone knows it."""

    title: Line = ""
    content: Annotated[str, Field(max_length=50_000)]
    keys: Lines = ()
    secondary_keys: Lines = ()
    constant: bool = False
    enabled: bool = True
    case_sensitive: bool = False
    regex: bool = False
    priority: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = 100
    order: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = 100
    recursive: bool = True
    audience: People = ()


@router.put("/people/{who}/activity")
def change_activity(
    world_id: str, who: str, told: ActivityIn, deps: Deps, by: PlayerDep
) -> WorldOut:
    """Change where someone is and what they do, hold and attend to."""
    activity = Activity(told.where, told.doing, told.holding, told.attention, told.expression)
    carry_out(deps, ChangeActivity(world_id, who, activity), by)
    return world_out(deps, world_id)


@router.put("/people/{who}/condition")
def change_condition(
    world_id: str, who: str, told: ConditionIn, deps: Deps, by: PlayerDep
) -> WorldOut:
    """Change someone's mood, goals or status."""
    condition = Condition(told.mood, told.goals, told.status)
    carry_out(deps, ChangeCondition(world_id, who, condition), by)
    return world_out(deps, world_id)


@router.delete("/people/{who}/belongings/{name}")
def drop_belonging(world_id: str, who: str, name: str, deps: Deps, by: RemoverDep) -> WorldOut:
    """Take an acquired object from its holder."""
    carry_out(deps, DropBelonging(world_id, who, name), by)
    return world_out(deps, world_id)


@router.post("/edges/{source}/{target}")
def change_edge(
    world_id: str, source: str, target: str, told: EdgeIn, deps: Deps, by: PlayerDep
) -> WorldOut:
    """Change what someone feels towards another, or summarise it again."""
    if told.affinity or told.trust:
        shift = ShiftEdge(world_id, source, target, told.affinity, told.trust, told.reason)
        carry_out(deps, shift, by, "shift")
    if told.summary is not None:
        rewrite = RewriteEdge(world_id, source, target, told.summary, told.facts)
        carry_out(deps, rewrite, by, "rewrite")
    return world_out(deps, world_id)


@router.put("/group")
def rewrite_group(world_id: str, told: GroupIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Summarise again what the three are to each other."""
    carry_out(deps, RewriteGroup(world_id, told.summary), by)
    return world_out(deps, world_id)


@router.post("/events", status_code=201)
def plan_event(world_id: str, told: EventIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Plan a story event, or let one happen at once."""
    trigger = Trigger(told.at, told.place_id, told.present)
    plan = PlanEvent(
        world_id,
        deps.engine.log.ids.new("evt"),
        told.title,
        told.gist,
        trigger,
        told.known_to,
    )
    done = carry_out(deps, plan, by)
    if told.start:
        planned = getattr(done.facts[0].event, "event_id", plan.event_id)
        carry_out(deps, StartEvent(world_id, planned), by, "start")
    return world_out(deps, world_id)


@router.post("/events/{event_id}/steps")
def step_event(
    world_id: str, event_id: str, told: EventStepIn, deps: Deps, by: PlayerDep
) -> WorldOut:
    """Start, complete or cancel an event."""
    acquired = tuple(Acquired(one.name, one.holder) for one in told.acquired)
    commands: dict[str, Command] = {
        "start": StartEvent(world_id, event_id),
        "complete": CompleteEvent(world_id, event_id, told.gist, acquired),
        "cancel": CancelEvent(world_id, event_id, told.reason),
    }
    carry_out(deps, commands[told.step], by)
    return world_out(deps, world_id)


@router.post("/props", status_code=201)
def introduce_prop(world_id: str, told: PropIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Bring an object into the story, as part of an open event."""
    prop_id = deps.engine.log.ids.new("prp")
    command = IntroduceProp(world_id, prop_id, told.name, told.event_id, told.holder, told.where)
    carry_out(deps, command, by)
    return world_out(deps, world_id)


@router.put("/props/{prop_id}")
def move_prop(world_id: str, prop_id: str, told: PropMoveIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Give an object to someone, or put it somewhere."""
    carry_out(deps, MoveProp(world_id, prop_id, told.holder, told.where), by)
    return world_out(deps, world_id)


@router.post("/plots", status_code=201)
def open_plot(world_id: str, told: PlotIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Note something unresolved."""
    plot_id, known_to = deps.engine.log.ids.new("plt"), told.known_to
    command = OpenPlot(world_id, plot_id, told.title, told.summary, known_to)
    carry_out(deps, command, by)
    return world_out(deps, world_id)


@router.post("/plots/{plot_id}/steps")
def step_plot(world_id: str, plot_id: str, told: PlotStepIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Note how a plot thread went on, or how it was resolved."""
    command: Command = (
        UpdatePlot(world_id, plot_id, told.text, told.known_to)
        if told.step == "update"
        else ClosePlot(world_id, plot_id, told.text)
    )
    carry_out(deps, command, by)
    return world_out(deps, world_id)


@router.get("/lore")
def lore(world_id: str, deps: Deps, branch: BranchName = None) -> list[LoreOut]:
    """The lore entries of a world in their order."""
    deps.engine.worlds.world(world_id, branch)
    with deps.engine.reading(branch=branch) as reader:
        return [LoreOut.model_validate(one) for one in lore_entries(reader, world_id)]


@router.post("/lore", status_code=201)
def add_lore(world_id: str, told: LoreIn, deps: Deps, by: PlayerDep) -> list[LoreOut]:
    """Add a lore entry."""
    return set_lore(world_id, deps.engine.log.ids.new("lor"), told, deps, by)


@router.put("/lore/{entry_id}")
def set_lore(
    world_id: str, entry_id: str, told: LoreIn, deps: Deps, by: PlayerDep
) -> list[LoreOut]:
    """Change a lore entry. What was imported with it is kept."""
    deps.engine.worlds.world(world_id)
    with deps.engine.reading() as reader:
        known = {one.entry_id: one for one in lore_entries(reader, world_id)}
    before = known.get(entry_id, LoreEntry(entry_id, ""))
    entry = msgspec.structs.replace(before, **told.model_dump(exclude={"request_id"}))
    carry_out(deps, SetLoreEntry(world_id, entry), by)
    return lore(world_id, deps)


@router.delete("/lore/{entry_id}")
def remove_lore(world_id: str, entry_id: str, deps: Deps, by: RemoverDep) -> list[LoreOut]:
    """Remove a lore entry."""
    carry_out(deps, RemoveLoreEntry(world_id, entry_id), by)
    return lore(world_id, deps)
