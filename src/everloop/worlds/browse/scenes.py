"""The course of a world: its scenes with their times, and the events and plot threads in them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

import msgspec

from everloop.log import Event, Reader, visible
from everloop.log.model.event import decode
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s
from everloop.worlds.model.state import World
from everloop.worlds.model.values import PLAYER, EventStatus
from everloop.worlds.queries import TimelineEntry, timeline

CourseKind = Literal["scene", "skip", "event", "plot", "cast"]


class SceneSummary(msgspec.Struct, frozen=True):
    """A closed scene as one witness saw it."""

    witness: str
    text: str
    learned: tuple[str, ...]
    relationship: str
    position: int


class SceneRecord(msgspec.Struct, frozen=True):
    """A scene: when and where it played, who was there, and what each witness made of it."""

    scene_id: str
    number: int
    place_id: str
    place: str
    present: tuple[str, ...]
    premise: str
    weather: str
    position: int
    clock: str
    until: str = ""
    closed_at: int = 0
    reason: str = ""
    digest: str = ""
    summaries: tuple[SceneSummary, ...] = ()
    began_with: tuple[str, ...] = ()

    def was_followed_by(self, who: str) -> bool:
        """Whether someone was there from its beginning, and witnessed something of it."""
        saw = {one.witness for one in self.summaries}
        return who in self.began_with and (not saw or who in saw)

    @property
    def is_open(self) -> bool:
        """Whether it goes on."""
        return self.closed_at == 0

    @property
    def is_meanwhile(self) -> bool:
        """Whether it plays without the player."""
        return PLAYER not in self.present


class CourseEntry(msgspec.Struct, frozen=True):
    """Something that happened, in a sentence, with the scene it belongs to."""

    position: int
    kind: CourseKind
    scene_id: str
    subject: str
    what: str
    text: str
    clock: str
    at: datetime


class EventRecord(msgspec.Struct, frozen=True):
    """A story event over its whole life."""

    event_id: str
    title: str
    gist: str
    status: EventStatus
    known_to: tuple[str, ...]
    planned_at: int
    ended_at: int = 0
    acquired: tuple[s.Acquired, ...] = ()


class PlotRecord(msgspec.Struct, frozen=True):
    """A plot thread over its whole life."""

    plot_id: str
    title: str
    summary: str
    known_to: tuple[str, ...]
    opened_at: int
    closed_at: int = 0
    outcome: str = ""


class Course(msgspec.Struct, frozen=True):
    """The whole course of a world, in order."""

    scenes: tuple[SceneRecord, ...]
    entries: tuple[CourseEntry, ...]
    events: tuple[EventRecord, ...]
    plots: tuple[PlotRecord, ...]


def course_of(reader: Reader, world_id: str, world: World) -> Course:
    """The course of a world, from its opening to now."""
    found = _Course(world, _clock_at_opening(reader, world_id, world.clock))
    for one in timeline(reader, world_id):
        found.add(one)
    return found.course()


def names_in(reader: Reader, world_id: str, world: World) -> dict[str, str]:
    """The names of everyone who is or was in a world."""
    joined = [one.event for one in timeline(reader, world_id, ("cast_joined",))]
    former = {one.character_id: one.name for one in joined if isinstance(one, e.CastJoined)}
    return {PLAYER: world.player_name, **former, **world.cast}


class _Course:
    """Folds the timeline of a world into its course."""

    def __init__(self, world: World, clock: str) -> None:
        self._world, self._clock = world, clock
        self._scenes: dict[str, SceneRecord] = {}
        self._entries: list[CourseEntry] = []
        self._events: dict[str, EventRecord] = {}
        self._plots: dict[str, PlotRecord] = {}
        self._names: dict[str, str] = {}
        self._now = ""

    def course(self) -> Course:
        return Course(
            tuple(self._scenes.values()),
            tuple(self._entries),
            tuple(self._events.values()),
            tuple(self._plots.values()),
        )

    def add(self, one: TimelineEntry) -> None:
        self._scene(one.position, one.event)
        self._story(one.position, one.event)
        for kind, subject, what, text in self._sentences(one.event):
            self._entries.append(
                CourseEntry(one.position, kind, self._now, subject, what, text, self._clock, one.at)
            )

    def _scene(self, position: int, event: Event) -> None:
        match event:
            case e.SceneOpened():
                self._now = event.scene_id
                place = self._world.places.get(event.place_id)
                self._scenes[event.scene_id] = SceneRecord(
                    event.scene_id,
                    len(self._scenes) + 1,
                    event.place_id,
                    place.name if place else event.place_id,
                    event.present,
                    event.premise,
                    event.weather,
                    position,
                    self._clock,
                    began_with=event.present,
                )
            case e.SceneDescribed(premise=premise, weather=weather):
                self._change(event.scene_id, premise=premise, weather=weather)
            case e.PresenceChanged(present=present):
                known = self._scenes.get(event.scene_id)
                everyone = dict.fromkeys((*(known.present if known else ()), *present))
                self._change(event.scene_id, present=tuple(everyone))
            case e.SceneClosed(reason=reason):
                self._change(event.scene_id, closed_at=position, until=self._clock, reason=reason)
            case e.DigestRecorded(text=text):
                self._change(event.scene_id, digest=text)
            case e.SceneSummarised():
                self._summary(position, event)
            case s.TimeElided(clock=clock) | s.TimeJumped(clock=clock):
                self._clock = clock
            case _:
                pass

    def _change(self, scene_id: str, **changes: object) -> None:
        if scene_id in self._scenes:
            self._scenes[scene_id] = msgspec.structs.replace(self._scenes[scene_id], **changes)

    def _summary(self, position: int, event: e.SceneSummarised) -> None:
        known = self._scenes.get(event.scene_id)
        if known is not None:
            new = SceneSummary(
                event.witness, event.text, event.learned, event.relationship, position
            )
            kept = [one for one in known.summaries if one.witness != event.witness]
            self._change(event.scene_id, summaries=(*kept, new))

    def _story(self, position: int, event: Event) -> None:
        match event:
            case s.EventPlanned():
                self._events[event.event_id] = EventRecord(
                    event.event_id, event.title, event.gist, "planned", event.known_to, position
                )
            case s.EventStarted():
                self._change_event(event.event_id, status="active")
            case s.EventCompleted(gist=gist, acquired=acquired):
                self._change_event(
                    event.event_id,
                    status="completed",
                    gist=gist or self._events[event.event_id].gist,
                    acquired=acquired,
                    ended_at=position,
                )
            case s.EventCancelled():
                self._change_event(event.event_id, status="cancelled", ended_at=position)
            case s.EventExpired():
                self._change_event(event.event_id, status="expired", ended_at=position)
            case s.PlotOpened():
                self._plots[event.plot_id] = PlotRecord(
                    event.plot_id, event.title, event.summary, event.known_to, position
                )
            case s.PlotUpdated(summary=summary, known_to=known_to):
                self._change_plot(event.plot_id, summary=summary, known_to=known_to)
            case s.PlotClosed(outcome=outcome):
                self._change_plot(event.plot_id, outcome=outcome, closed_at=position)
            case _:
                pass

    def _change_event(self, event_id: str, **changes: object) -> None:
        if event_id in self._events:
            self._events[event_id] = msgspec.structs.replace(self._events[event_id], **changes)

    def _change_plot(self, plot_id: str, **changes: object) -> None:
        if plot_id in self._plots:
            self._plots[plot_id] = msgspec.structs.replace(self._plots[plot_id], **changes)

    def _sentences(self, event: Event) -> Iterable[tuple[CourseKind, str, str, str]]:
        match event:
            case e.SceneOpened():
                yield "scene", event.scene_id, "opened", self._scenes[event.scene_id].place
            case e.SceneClosed():
                yield "scene", event.scene_id, "closed", event.reason
            case s.TimeElided() | s.TimeJumped():
                what = "jumped" if isinstance(event, s.TimeJumped) else "elided"
                yield "skip", "", what, event.narration
            case e.CastJoined():
                self._names[event.character_id] = event.name
                yield "cast", event.character_id, "joined", event.name
            case e.CastLeft():
                yield "cast", event.character_id, "left", self._names.get(event.character_id, "")
            case (
                s.EventPlanned()
                | s.EventStarted()
                | s.EventCompleted()
                | s.EventCancelled()
                | s.EventExpired()
            ):
                known = self._events.get(event.event_id)
                if known is not None:
                    yield "event", event.event_id, known.status, known.title
            case s.PlotOpened() | s.PlotUpdated() | s.PlotClosed():
                plot = self._plots.get(event.plot_id)
                if plot is not None:
                    yield "plot", event.plot_id, event.wire.rpartition("_")[2], plot.title
            case _:
                pass


def _clock_at_opening(reader: Reader, world_id: str, otherwise: str) -> str:
    for kind, schema, data in reader.rows(_OPENING, (world_id,)):
        opened = decode(kind, schema, data)
        if isinstance(opened, e.WorldOpened):
            return opened.clock
    return otherwise


_OPENING = f"""
SELECT l.kind, l.schema, l.data FROM world_worlds w JOIN log l ON l.position = w.position
WHERE w.world_id = ? AND w.act = 'opened' AND l.data IS NOT NULL AND {visible("w")} LIMIT 1
"""  # noqa: S608 - our own condition
