"""Commands of the story itself: events with their props, plot threads, time and lore."""

from everloop.log import Command
from everloop.worlds.model.story_events import Acquired, LoreEntry
from everloop.worlds.model.values import Trigger


class PlanEvent(Command, frozen=True):
    """Plan a story event. Without `known_to`, everyone present knows of it."""

    world_id: str
    event_id: str
    title: str
    gist: str = ""
    trigger: Trigger = Trigger()
    known_to: tuple[str, ...] = ()
    because: tuple[int, ...] = ()


class StartEvent(Command, frozen=True):
    """Let a planned event happen."""

    world_id: str
    event_id: str
    because: tuple[int, ...] = ()


class CompleteEvent(Command, frozen=True):
    """End an event that happened; of its props, only what is acquired stays.

    Without `witnesses`, everyone present learns what it came to.
    """

    world_id: str
    event_id: str
    gist: str = ""
    acquired: tuple[Acquired, ...] = ()
    because: tuple[int, ...] = ()
    witnesses: tuple[str, ...] = ()


class CancelEvent(Command, frozen=True):
    """Call an event off."""

    world_id: str
    event_id: str
    reason: str = ""
    because: tuple[int, ...] = ()


class ExpireEvent(Command, frozen=True):
    """End a planned event whose time went by."""

    world_id: str
    event_id: str
    because: tuple[int, ...] = ()


class IntroduceProp(Command, frozen=True):
    """Bring an object into the story, as part of an open event."""

    world_id: str
    prop_id: str
    name: str
    event_id: str
    holder: str = ""
    where: str = ""
    because: tuple[int, ...] = ()


class MoveProp(Command, frozen=True):
    """Give an object to someone, or put it somewhere."""

    world_id: str
    prop_id: str
    holder: str = ""
    where: str = ""
    because: tuple[int, ...] = ()


class DropBelonging(Command, frozen=True):
    """Take an acquired object from its holder."""

    world_id: str
    holder: str
    name: str
    because: tuple[int, ...] = ()


class OpenPlot(Command, frozen=True):
    """Note something unresolved. Without `known_to`, everyone present knows of it."""

    world_id: str
    plot_id: str
    title: str
    summary: str = ""
    known_to: tuple[str, ...] = ()
    because: tuple[int, ...] = ()


class UpdatePlot(Command, frozen=True):
    """Note how a plot thread went on; without `known_to`, for those present and who knew it."""

    world_id: str
    plot_id: str
    summary: str
    known_to: tuple[str, ...] = ()
    because: tuple[int, ...] = ()


class ClosePlot(Command, frozen=True):
    """Note how a plot thread was resolved."""

    world_id: str
    plot_id: str
    outcome: str = ""
    because: tuple[int, ...] = ()


class ElideTime(Command, frozen=True):
    """Let minutes go by inside the open scene."""

    world_id: str
    minutes: int
    narration: str = ""
    because: tuple[int, ...] = ()


class JumpTime(Command, frozen=True):
    """Go on at a later time. The open scene is closed first."""

    world_id: str
    to: str
    narration: str = ""
    because: tuple[int, ...] = ()


class RememberOffstage(Command, frozen=True):
    """Record what one person did and saw during a jump."""

    world_id: str
    witness: str
    text: str
    because: tuple[int, ...] = ()


class SetLoreEntry(Command, frozen=True):
    """Add a lore entry, or change it."""

    world_id: str
    entry: LoreEntry
    because: tuple[int, ...] = ()


class RemoveLoreEntry(Command, frozen=True):
    """Remove a lore entry."""

    world_id: str
    entry_id: str
