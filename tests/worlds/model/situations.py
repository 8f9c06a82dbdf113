"""Situations that the tests of worlds begin with, and how to decide in them."""

from everloop.log import Event
from everloop.testing.deterministic import Given, given
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s
from everloop.worlds.model.state import WORLD, World
from everloop.worlds.model.values import Passage, Place, Prop, Slot, Trigger

CAR = Place(
    "car", "The car", "", (Slot("driver"), Slot("passenger"), Slot("boot", 1, "it is shut"))
)
PARK = Place("park", "The park")
OPENED = e.WorldOpened("w", "Summer", "Robin", "", "2026-05-01T18:00:00+00:00")
ADA = e.CastJoined("w", "ada", "Ada", "")
BEN = e.CastJoined("w", "ben", "Ben", "")
PLACES = (e.PlaceDefined("w", CAR), e.PlaceDefined("w", PARK))
BEGUN = (OPENED, ADA, BEN, *PLACES)
SCENE = e.SceneOpened("w", "s1", "car", ("you", "ada"), "A drive.", "rain")
PLAYING = (*BEGUN, SCENE)
SAID = e.MessageWritten(
    "w", "s1", "m1", "you", "Hello.", (Passage("speech", "Hello."),), ("you", "ada"), "ada"
)
ASKED = e.TurnRecorded("w", "t1", "m2", "ada", "")
SENT = e.TurnSending("w", "t1", "v1", "model", "ctx", "process")
RENDERED = e.VersionRendered(
    "w", "s1", "m2", "v1", "ada", "Hi!", (Passage("speech", "Hi!"),), ("you", "ada"), "model",
    "stop", "t1",
)  # fmt: skip
CHOSEN = e.VersionChosen("w", "m2", "v1")
REPLIED = (*PLAYING, SAID, ASKED, SENT, RENDERED, CHOSEN)
PICNIC = s.EventPlanned(
    "w", "picnic", "A picnic", "lunch outside", Trigger(at="2026-05-03T12:00:00+00:00"),
    ("you", "ada"),
)  # fmt: skip
BASKET = s.PropIntroduced("w", Prop("basket", "picnic basket", "picnic", "ada"))
EATING = (*PLAYING, PICNIC, s.EventStarted("w", "picnic"), BASKET)


def after(*events: Event) -> Given[World]:
    """A world after these events."""
    return given(WORLD, *events)
