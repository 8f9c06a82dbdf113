"""Events of the story itself: what happens with which props, plot threads, time, lore."""

from typing import Literal

import msgspec

from everloop.log import Event, event
from everloop.worlds.model.values import Prop, Trigger

LoreLogic = Literal["and_any", "not_all", "not_any", "and_all"]  # what secondary keys must do


class Acquired(msgspec.Struct, frozen=True):
    """An object of a finished event that someone keeps."""

    name: str
    holder: str


class LoreEntry(msgspec.Struct, frozen=True):
    """Background that comes into a prompt when its keys are mentioned.

    `audience` are the people who know it; empty, everyone does. `recursive`: its text may bring in
    others; `recursed`: the text of others may bring it in. `scan_depth` is how many messages are
    searched for its keys, 0 the usual number. `source` is the JSON it was imported from, kept for
    an equal export.
    """

    entry_id: str
    content: str
    title: str = ""
    keys: tuple[str, ...] = ()
    secondary_keys: tuple[str, ...] = ()
    constant: bool = False
    enabled: bool = True
    case_sensitive: bool = False
    regex: bool = False
    priority: int = 100
    order: int = 100
    recursive: bool = True
    audience: tuple[str, ...] = ()
    book: str = ""
    source: str = ""
    logic: LoreLogic = "and_any"
    scan_depth: int = 0
    recursed: bool = True


@event("worlds.event_planned")
class EventPlanned(Event, frozen=True):
    """Something is going to happen: a picnic, a departure. These people know of it."""

    world_id: str
    event_id: str
    title: str
    gist: str
    trigger: Trigger
    known_to: tuple[str, ...]


@event("worlds.event_started")
class EventStarted(Event, frozen=True):
    """A planned event is happening."""

    world_id: str
    event_id: str


@event("worlds.event_completed")
class EventCompleted(Event, frozen=True):
    """An event is over. Its props are gone, except what someone acquired."""

    world_id: str
    event_id: str
    gist: str
    acquired: tuple[Acquired, ...]
    witnesses: tuple[str, ...]


@event("worlds.event_cancelled")
class EventCancelled(Event, frozen=True):
    """An event is not going to happen, or was broken off."""

    world_id: str
    event_id: str
    reason: str


@event("worlds.event_expired")
class EventExpired(Event, frozen=True):
    """The time of a planned event went by without it."""

    world_id: str
    event_id: str


@event("worlds.prop_introduced")
class PropIntroduced(Event, frozen=True):
    """An open event brought in an object."""

    world_id: str
    prop: Prop


@event("worlds.prop_moved")
class PropMoved(Event, frozen=True):
    """An object went to someone else, or was put somewhere."""

    world_id: str
    prop_id: str
    holder: str
    where: str


@event("worlds.belonging_dropped")
class BelongingDropped(Event, frozen=True):
    """Someone no longer has an object that they had acquired."""

    world_id: str
    holder: str
    name: str


@event("worlds.plot_opened")
class PlotOpened(Event, frozen=True):
    """Something is unresolved. These people know of it."""

    world_id: str
    plot_id: str
    title: str
    summary: str
    known_to: tuple[str, ...]


@event("worlds.plot_updated")
class PlotUpdated(Event, frozen=True):
    """An open plot thread went on."""

    world_id: str
    plot_id: str
    summary: str
    known_to: tuple[str, ...]


@event("worlds.plot_closed")
class PlotClosed(Event, frozen=True):
    """A plot thread was resolved."""

    world_id: str
    plot_id: str
    outcome: str


@event("worlds.time_elided")
class TimeElided(Event, frozen=True):
    """Dull time went by inside a scene; scene and cast stay."""

    world_id: str
    clock: str
    narration: str


@event("worlds.time_jumped")
class TimeJumped(Event, frozen=True):
    """Time went by between scenes, long enough that things happened off-stage."""

    world_id: str
    clock: str
    narration: str


@event("worlds.offstage_remembered")
class OffstageRemembered(Event, frozen=True):
    """What one person did and saw while the story skipped ahead."""

    world_id: str
    witness: str
    text: str
    clock: str


@event("worlds.lore_entry_set")
class LoreEntrySet(Event, frozen=True):
    """A lore entry was added or changed."""

    world_id: str
    entry: LoreEntry


@event("worlds.lore_entry_removed")
class LoreEntryRemoved(Event, frozen=True):
    """A lore entry was removed."""

    world_id: str
    entry_id: str
