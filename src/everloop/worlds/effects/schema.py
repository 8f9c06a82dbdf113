"""What a model reads from a turn, a scene, a stretch of time or an opening, as JSON.

Every field has a default, and the defaults change nothing: an empty answer is a turn without
effects. People are named by their names; whoever applies a reading finds out who is meant.
"""

from typing import Literal

import msgspec


class ActivityReading(msgspec.Struct, frozen=True):
    """What someone does now. Empty fields are unchanged; `holding` is all that they hold."""

    who: str
    where: str = ""
    doing: str = ""
    holding: tuple[str, ...] | None = None
    attention: str = ""
    mood: str = ""


class FeelingReading(msgspec.Struct, frozen=True):
    """How someone's feelings towards another moved, from -10 to 10."""

    source: str
    target: str
    affinity: int = 0
    trust: int = 0
    why: str = ""


class PropReading(msgspec.Struct, frozen=True):
    """An object that came into play or changed hands, as part of a story event."""

    name: str
    event: str = ""
    holder: str = ""
    where: str = ""


class KeptReading(msgspec.Struct, frozen=True):
    """An object that someone keeps after an event."""

    name: str
    holder: str


class EventReading(msgspec.Struct, frozen=True):
    """A story event that was planned, began, ended or was called off."""

    title: str
    change: Literal["planned", "started", "completed", "cancelled"]
    gist: str = ""
    keeps: tuple[KeptReading, ...] = ()


class PlotReading(msgspec.Struct, frozen=True):
    """Something unresolved: opened, went on, or was resolved."""

    title: str
    change: Literal["opened", "updated", "closed"]
    summary: str = ""


class TurnReading(msgspec.Struct, frozen=True):
    """What follows from the newest messages."""

    gist: str = ""
    significance: int = 0
    activities: tuple[ActivityReading, ...] = ()
    feelings: tuple[FeelingReading, ...] = ()
    entered: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    props: tuple[PropReading, ...] = ()
    events: tuple[EventReading, ...] = ()
    plots: tuple[PlotReading, ...] = ()
    could_not_hear: tuple[str, ...] = ()
    interjects: str = ""
    scene_over: str = ""


class RelationshipReading(msgspec.Struct, frozen=True):
    """What someone thinks of another after a scene, and what they know of them."""

    target: str
    summary: str = ""
    facts: tuple[str, ...] = ()


class SceneReading(msgspec.Struct, frozen=True):
    """A scene as one witness saw it, in two to four sentences."""

    summary: str = ""
    learned: tuple[str, ...] = ()
    relationships: tuple[RelationshipReading, ...] = ()


class OffstageReading(msgspec.Struct, frozen=True):
    """What one person did meanwhile, in one or two sentences."""

    text: str = ""


class PlaceReading(msgspec.Struct, frozen=True):
    """Where a story begins."""

    name: str = ""
    description: str = ""


class OpeningReading(msgspec.Struct, frozen=True):
    """How a story begins, as read from prose."""

    title: str = ""
    player_name: str = ""
    player_description: str = ""
    clock: str = ""
    place: PlaceReading = PlaceReading()
    premise: str = ""
    weather: str = ""
    characters: tuple[str, ...] = ()
    met: str = ""
    activities: tuple[ActivityReading, ...] = ()
