"""State of a world for its deciders: the situation now. Old scenes and messages are not in it."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from everloop.errors import Corrupt
from everloop.log import Event, Fact, Fold
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s
from everloop.worlds.model.values import (
    FEELING_MAX,
    PLAYER,
    Activity,
    AuthorNote,
    CharacterSheet,
    Condition,
    Edge,
    EventStatus,
    Place,
    Prop,
    Style,
    Trigger,
    edge_key,
)

GONE_PROPS_MAX = 200  # names of props of ended events that are known
WAITING, SENDING, STREAMING = "recorded", "sending", "streaming"


class Character(msgspec.Struct, frozen=True):
    """A character of the library."""

    position: int
    sheet: CharacterSheet
    removed: bool = False


class Scene(msgspec.Struct, frozen=True):
    """The open scene. `position` is where it was opened.

    `premise_known_to` were there when it was said what is going on.
    """

    scene_id: str
    place_id: str
    present: tuple[str, ...]
    position: int
    premise: str = ""
    weather: str = ""
    premise_known_to: tuple[str, ...] = ()

    @property
    def is_meanwhile(self) -> bool:
        """Whether it plays without the player."""
        return PLAYER not in self.present


class StoryEvent(msgspec.Struct, frozen=True):
    """A story event that has not ended."""

    title: str
    gist: str
    status: EventStatus
    known_to: tuple[str, ...]
    position: int
    trigger: Trigger = Trigger()


class Plot(msgspec.Struct, frozen=True):
    """An open plot thread."""

    title: str
    summary: str
    known_to: tuple[str, ...]
    position: int


class OpenTurn(msgspec.Struct, frozen=True):
    """The turn that has not ended."""

    turn_id: str
    message_id: str
    speaker: str
    position: int
    direction: str = ""
    phase: str = WAITING
    version_id: str = ""
    model: str = ""
    sender: str = ""
    text: str = ""


class NewestMessage(msgspec.Struct, frozen=True):
    """The newest message of the story, which alone can get other versions."""

    message_id: str
    speaker: str
    position: int
    versions: dict[str, int] = {}
    chosen: str = ""
    chosen_at: int = 0
    witnesses: tuple[str, ...] = ()


class World(msgspec.Struct, frozen=True):
    """The situation in a world."""

    position: int
    title: str
    player_name: str
    player_description: str
    clock: str
    archived: bool = False
    style: Style = Style()
    note: AuthorNote = AuthorNote()
    cast: dict[str, str] = {}
    places: dict[str, Place] = {}
    scene: Scene | None = None
    closed_scenes: frozenset[str] = frozenset()
    activities: dict[str, Activity] = {}
    conditions: dict[str, Condition] = {}
    edges: dict[str, Edge] = {}
    group: str = ""
    events: dict[str, StoryEvent] = {}
    ended_events: dict[str, EventStatus] = {}
    props: dict[str, Prop] = {}
    belongings: dict[str, tuple[str, ...]] = {}
    gone_props: tuple[str, ...] = ()
    plots: dict[str, Plot] = {}
    closed_plots: frozenset[str] = frozenset()
    turn: OpenTurn | None = None
    newest: NewestMessage | None = None
    former: dict[str, str] = {}

    @property
    def people(self) -> tuple[str, ...]:
        """Everyone who can be in a scene: the player and the cast."""
        return (PLAYER, *self.cast)

    def name_of(self, who: str) -> str:
        """The name of someone who is or was in the cast; empty for anyone else."""
        if who == PLAYER:
            return self.player_name
        return self.cast.get(who) or self.former.get(who, "")

    def edge(self, source: str, target: str) -> Edge:
        """What one feels towards another; neutral where nothing is recorded."""
        return self.edges.get(edge_key(source, target), Edge())

    def holding(self, who: str) -> tuple[str, ...]:
        """What someone has: props of open events, and what they acquired."""
        props = [prop.name for prop in self.props.values() if prop.holder == who]
        return (*props, *self.belongings.get(who, ()))


class Lore(msgspec.Struct, frozen=True):
    """The lore entries of a world, each with its position."""

    entries: dict[str, int] = {}


Changes = dict[str, object]
Change = Callable[[World, Any, int], Changes]


def evolve_character(known: Character | None, fact: Fact) -> Character:
    """A character after an event."""
    match fact.event:
        case e.CharacterAuthored(sheet=sheet):
            return Character(fact.position, sheet)
        case _ if known is None:
            raise Corrupt(f"{fact.event.wire} came before worlds.character_authored")
        case e.CharacterRevised(sheet=sheet):
            return msgspec.structs.replace(known, sheet=sheet)
        case e.CharacterRemoved():
            return msgspec.structs.replace(known, removed=True)
        case e.CharacterRestored():
            return msgspec.structs.replace(known, removed=False)
        case _:
            return known


def evolve_lore(known: Lore | None, fact: Fact) -> Lore:
    """The lore after an event."""
    entries = dict(known.entries) if known is not None else {}
    match fact.event:
        case s.LoreEntrySet(entry=entry):
            return Lore({**entries, entry.entry_id: fact.position})
        case s.LoreEntryRemoved(entry_id=entry_id):
            return Lore({key: at for key, at in entries.items() if key != entry_id})
        case _:
            return Lore(entries)


def evolve(known: World | None, fact: Fact) -> World:
    """A world after an event."""
    happened = fact.event
    if isinstance(happened, e.WorldOpened):
        return World(
            fact.position,
            happened.title,
            happened.player_name,
            happened.player_description,
            happened.clock,
        )
    if known is None:
        raise Corrupt(f"{happened.wire} came before worlds.world_opened")
    change = CHANGES.get(type(happened))
    changes = change(known, happened, fact.position) if change else None
    return msgspec.structs.replace(known, **changes) if changes else known


# -- the cast and the scene ------------------------------------------------------------------------


def _cast_left(known: World, left: e.CastLeft, _: int) -> Changes:
    gone = left.character_id
    return {
        "cast": _without(known.cast, gone),
        "former": {**known.former, gone: known.cast.get(gone, gone)},
        "activities": _without(known.activities, gone),
        "conditions": _without(known.conditions, gone),
        "group": "",
    }


def _scene_opened(known: World, opened: e.SceneOpened, position: int) -> Changes:
    scene = Scene(
        opened.scene_id,
        opened.place_id,
        opened.present,
        position,
        opened.premise,
        opened.weather,
        opened.present,
    )
    here = {who: each for who, each in known.activities.items() if who in opened.present}
    return {"scene": scene, "activities": here, "newest": None}


def _scene_closed(known: World, closed: e.SceneClosed, _: int) -> Changes:
    return {
        "scene": None,
        "activities": _held(known.activities),
        "newest": None,
        "closed_scenes": known.closed_scenes | {closed.scene_id},
    }


def _held(activities: dict[str, Activity]) -> dict[str, Activity]:
    """What people hold, which they keep from scene to scene. What they did there is over."""
    return {who: Activity(holding=one.holding) for who, one in activities.items() if one.holding}


def _presence_changed(known: World, changed: e.PresenceChanged, _: int) -> Changes:
    if known.scene is None:
        return {}
    here = {who: each for who, each in known.activities.items() if who in changed.present}
    scene = msgspec.structs.replace(known.scene, present=changed.present)
    return {"scene": scene, "activities": here}


def _scene_described(known: World, told: e.SceneDescribed, _: int) -> Changes:
    if known.scene is None:
        return {}
    scene = known.scene
    heard_by = scene.premise_known_to if told.premise == scene.premise else scene.present
    described = msgspec.structs.replace(
        scene, premise=told.premise, weather=told.weather, premise_known_to=heard_by
    )
    return {"scene": described}


def _edge_shifted(known: World, shifted: e.EdgeShifted, _: int) -> Changes:
    edge = known.edge(shifted.source, shifted.target)
    moved = msgspec.structs.replace(
        edge,
        affinity=_bounded(edge.affinity + shifted.affinity),
        trust=_bounded(edge.trust + shifted.trust),
    )
    return _with_edge(known, shifted.source, shifted.target, moved)


def _edge_rewritten(known: World, told: e.EdgeRewritten, _: int) -> Changes:
    edge = known.edge(told.source, told.target)
    rewritten = msgspec.structs.replace(edge, summary=told.summary, facts=told.facts)
    return _with_edge(known, told.source, told.target, rewritten)


def _with_edge(known: World, source: str, target: str, edge: Edge) -> Changes:
    return {"edges": {**known.edges, edge_key(source, target): edge}}


def _bounded(feeling: int) -> int:
    return max(-FEELING_MAX, min(FEELING_MAX, feeling))


# -- messages and turns ----------------------------------------------------------------------------


def _message_written(_: World, written: e.MessageWritten, position: int) -> Changes:
    newest = NewestMessage(written.message_id, written.speaker, position)
    return {"newest": msgspec.structs.replace(newest, witnesses=written.witnesses)}


def _turn_recorded(_: World, turn: e.TurnRecorded, position: int) -> Changes:
    recorded = OpenTurn(turn.turn_id, turn.message_id, turn.speaker, position, turn.direction)
    return {"turn": recorded}


def _turn_sending(known: World, sending: e.TurnSending, _: int) -> Changes:
    return _with_turn(
        known,
        sending.turn_id,
        phase=SENDING,
        version_id=sending.version_id,
        model=sending.model,
        sender=sending.sender,
    )


def _turn_streaming(known: World, streaming: e.TurnStreaming, _: int) -> Changes:
    return _with_turn(known, streaming.turn_id, phase=STREAMING)


def _reply_saved(known: World, saved: e.ReplySaved, _: int) -> Changes:
    turn = known.turn
    return _with_turn(known, saved.turn_id, text=turn.text + saved.text) if turn else {}


def _with_turn(known: World, turn_id: str, **changes: object) -> Changes:
    if known.turn is None or known.turn.turn_id != turn_id:
        return {}
    return {"turn": msgspec.structs.replace(known.turn, **changes)}


def _turn_ended(known: World, ended: Any, _: int) -> Changes:
    return {"turn": None} if known.turn and known.turn.turn_id == ended.turn_id else {}


def _version_rendered(known: World, version: e.VersionRendered, position: int) -> Changes:
    newest = known.newest
    if newest is None or newest.message_id != version.message_id:
        newest = NewestMessage(version.message_id, version.speaker, position)
    versions = {**newest.versions, version.version_id: position}
    return {
        **_turn_ended(known, version, position),
        "newest": msgspec.structs.replace(newest, versions=versions, witnesses=version.witnesses),
    }


def _witnesses_corrected(known: World, corrected: e.WitnessesCorrected, _: int) -> Changes:
    newest = known.newest
    if newest is None or newest.message_id != corrected.message_id:
        return {}
    return {"newest": msgspec.structs.replace(newest, witnesses=corrected.witnesses)}


def _version_chosen(known: World, choice: e.VersionChosen, position: int) -> Changes:
    newest = known.newest
    if newest is None or newest.message_id != choice.message_id:
        return {}
    chosen = msgspec.structs.replace(newest, chosen=choice.version_id, chosen_at=position)
    return {"newest": chosen}


# -- the story -------------------------------------------------------------------------------------


def _event_planned(known: World, planned: s.EventPlanned, position: int) -> Changes:
    event = StoryEvent(
        planned.title, planned.gist, "planned", planned.known_to, position, planned.trigger
    )
    return {"events": {**known.events, planned.event_id: event}}


def _event_started(known: World, started: s.EventStarted, _: int) -> Changes:
    event = known.events.get(started.event_id)
    if event is None:
        return {}
    active = msgspec.structs.replace(event, status="active")
    return {"events": {**known.events, started.event_id: active}}


def _event_ended(status: EventStatus) -> Change:
    def end(known: World, ended: Any, _: int) -> Changes:
        gone: str = ended.event_id
        names = [prop.name for prop in known.props.values() if prop.event_id == gone]
        return {
            "activities": _let_go(known.activities, names),
            "gone_props": tuple(dict.fromkeys((*known.gone_props, *names)))[-GONE_PROPS_MAX:],
            "events": _without(known.events, gone),
            "ended_events": {**known.ended_events, gone: status},
            "props": {key: prop for key, prop in known.props.items() if prop.event_id != gone},
        }

    return end


def _let_go(activities: dict[str, Activity], names: list[str]) -> dict[str, Activity]:
    """Activities in which nobody holds or attends to objects of these names."""
    gone = [name.casefold() for name in names]

    def without(activity: Activity) -> Activity:
        def stays(text: str) -> bool:
            return not any(name in text.casefold() for name in gone)

        return Activity(
            activity.where,
            activity.doing if stays(activity.doing) else "",
            tuple(filter(stays, activity.holding)),
            activity.attention if stays(activity.attention) else "",
            activity.expression,
        )

    return {who: without(each) for who, each in activities.items()} if gone else activities


def _event_completed(known: World, done: s.EventCompleted, position: int) -> Changes:
    kept = dict(known.belongings)
    for each in done.acquired:
        kept[each.holder] = (*kept.get(each.holder, ()), each.name)
    return {**_event_ended("completed")(known, done, position), "belongings": kept}


def _prop_moved(known: World, moved: s.PropMoved, _: int) -> Changes:
    prop = known.props.get(moved.prop_id)
    if prop is None:
        return {}
    there = msgspec.structs.replace(prop, holder=moved.holder, where=moved.where)
    return {"props": {**known.props, moved.prop_id: there}}


def _belonging_dropped(known: World, dropped: s.BelongingDropped, _: int) -> Changes:
    kept = list(known.belongings.get(dropped.holder, ()))
    if dropped.name in kept:
        kept.remove(dropped.name)
    return {"belongings": {**known.belongings, dropped.holder: tuple(kept)}}


def _plot_opened(known: World, opened: s.PlotOpened, position: int) -> Changes:
    plot = Plot(opened.title, opened.summary, opened.known_to, position)
    return {"plots": {**known.plots, opened.plot_id: plot}}


def _plot_updated(known: World, updated: s.PlotUpdated, _: int) -> Changes:
    plot = known.plots.get(updated.plot_id)
    if plot is None:
        return {}
    now = msgspec.structs.replace(plot, summary=updated.summary, known_to=updated.known_to)
    return {"plots": {**known.plots, updated.plot_id: now}}


def _plot_closed(known: World, closed: s.PlotClosed, _: int) -> Changes:
    return {
        "plots": _without(known.plots, closed.plot_id),
        "closed_plots": known.closed_plots | {closed.plot_id},
    }


def _without(table: dict[str, Any], key: str) -> dict[str, Any]:
    return {other: value for other, value in table.items() if other != key}


CHANGES: Final[dict[type[Event], Change]] = {
    e.WorldRenamed: lambda _, named, __: {"title": named.title},
    e.WorldArchived: lambda _, __, ___: {"archived": True},
    e.WorldRestored: lambda _, __, ___: {"archived": False},
    e.StyleSet: lambda _, told, __: {"style": told.style},
    e.AuthorNoteSet: lambda _, told, __: {"note": told.note},
    e.CastJoined: lambda known, who, _: {
        "cast": {**known.cast, who.character_id: who.name},
        "group": "",
    },
    e.CastLeft: _cast_left,
    e.PlaceDefined: lambda known, told, _: {
        "places": {**known.places, told.place.place_id: told.place}
    },
    e.SceneOpened: _scene_opened,
    e.SceneDescribed: _scene_described,
    e.PresenceChanged: _presence_changed,
    e.SceneClosed: _scene_closed,
    e.ActivityChanged: lambda known, now, _: {
        "activities": {**known.activities, now.who: now.activity}
    },
    e.ConditionChanged: lambda known, now, _: {
        "conditions": {**known.conditions, now.who: now.condition}
    },
    e.EdgeShifted: _edge_shifted,
    e.EdgeRewritten: _edge_rewritten,
    e.GroupRewritten: lambda _, told, __: {"group": told.summary},
    e.MessageWritten: _message_written,
    e.TurnRecorded: _turn_recorded,
    e.TurnSending: _turn_sending,
    e.TurnStreaming: _turn_streaming,
    e.ReplySaved: _reply_saved,
    e.VersionRendered: _version_rendered,
    e.WitnessesCorrected: _witnesses_corrected,
    e.VersionChosen: _version_chosen,
    e.TurnFailed: _turn_ended,
    e.TurnLeftUncertain: _turn_ended,
    s.EventPlanned: _event_planned,
    s.EventStarted: _event_started,
    s.EventCompleted: _event_completed,
    s.EventCancelled: _event_ended("cancelled"),
    s.EventExpired: _event_ended("expired"),
    s.PropIntroduced: lambda known, told, _: {
        "props": {**known.props, told.prop.prop_id: told.prop}
    },
    s.PropMoved: _prop_moved,
    s.BelongingDropped: _belonging_dropped,
    s.PlotOpened: _plot_opened,
    s.PlotUpdated: _plot_updated,
    s.PlotClosed: _plot_closed,
    s.TimeElided: lambda _, told, __: {"clock": told.clock},
    s.TimeJumped: lambda _, told, __: {"clock": told.clock},
}

CHARACTER: Final = Fold("worlds.character", Character, evolve_character)
WORLD: Final = Fold("worlds.world", World, evolve, version=3)
LORE: Final = Fold("worlds.lore", Lore, evolve_lore)


def character_stream(character_id: str) -> str:
    """The stream of a character of the library."""
    return f"character:{character_id}"


def world_stream(world_id: str) -> str:
    """The stream of a world, which is also the root of its tree."""
    return f"world:{world_id}"


def lore_stream(world_id: str) -> str:
    """The stream of a world's lore, in the tree of the world."""
    return f"{world_stream(world_id)}:lore"
