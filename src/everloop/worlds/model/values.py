"""Values of a world: what characters, places, relationships, story events and props consist of."""

from typing import Final, Literal

import msgspec

PLAYER: Final = "you"  # the id of the player in every world; characters have ids of their own
NARRATOR: Final = "narrator"
FEELING_MAX: Final = 100  # affinity and trust lie between minus this and this

LearnedVia = Literal["saw", "overheard", "told"]
EventStatus = Literal["planned", "active", "completed", "cancelled", "expired"]
ENDED: Final[tuple[EventStatus, ...]] = ("completed", "cancelled", "expired")


class SheetFile(msgspec.Struct, frozen=True):
    """A file of a character in the file store: an asset of its card, by the name it has there."""

    name: str
    digest: str


class CharacterSheet(msgspec.Struct, frozen=True):
    """Who a character is. `card` is the JSON it was imported from, kept for an equal export.

    `portrait` is the digest of a picture in the file store, `files` are the other assets.
    """

    name: str
    description: str = ""
    personality: str = ""
    scenario: str = ""
    traits: tuple[str, ...] = ()
    voice_samples: tuple[str, ...] = ()
    greetings: tuple[str, ...] = ()
    nickname: str = ""
    creator_notes: str = ""
    instructions: str = ""
    closing_instructions: str = ""
    tags: tuple[str, ...] = ()
    portrait: str = ""
    card: str = ""
    files: tuple[SheetFile, ...] = ()


# English, German and French. Not "an": "an old bench" begins with the English article.
_PREPOSITIONS = frozenset(
    """
    aboard above across against along amid among around at atop behind below beneath beside between
    by close down in inside near next on onto opposite out outside over somewhere under underneath
    up upon within am auf bei beim hinter im neben unter vor zwischen au aux chez contre dans
    derrière devant près sous sur à
    """.split()  # noqa: SIM905  # 50 quoted words are harder to read
)


class Slot(msgspec.Struct, frozen=True):
    """A spot in a place that holds people. `blocked` says why nobody can get there now."""

    name: str
    capacity: int = 1
    blocked: str = ""


class Place(msgspec.Struct, frozen=True):
    """Somewhere a scene happens: a room, a car, a booth. Without slots, anyone stands anywhere."""

    place_id: str
    name: str
    description: str = ""
    slots: tuple[Slot, ...] = ()

    def slot(self, name: str) -> Slot | None:
        """The slot of that name."""
        return next((slot for slot in self.slots if slot.name == name), None)


class Activity(msgspec.Struct, frozen=True):
    """What someone is doing now: where, what, with what in their hands, and attending to what."""

    where: str = ""
    doing: str = ""
    holding: tuple[str, ...] = ()
    attention: str = ""
    expression: str = ""

    @property
    def whereabouts(self) -> str:
        """Where, as it reads in a sentence: "at the window", "on the wall"; empty if nowhere."""
        if not self.where or self.where.split()[0].casefold() in _PREPOSITIONS:
            return self.where
        return f"at {self.where}"


class Condition(msgspec.Struct, frozen=True):
    """The state of someone: mood, goals, and what is the matter with them."""

    mood: str = ""
    goals: tuple[str, ...] = ()
    status: str = ""


class Edge(msgspec.Struct, frozen=True):
    """What one person feels towards another and knows of them. The way back is another edge."""

    affinity: int = 0
    trust: int = 0
    summary: str = ""
    facts: tuple[str, ...] = ()


class Prop(msgspec.Struct, frozen=True):
    """An object that a story event brought in. `holder` has it; without one it lies at `where`."""

    prop_id: str
    name: str
    event_id: str
    holder: str = ""
    where: str = ""


class Trigger(msgspec.Struct, frozen=True):
    """When a planned event is due: at a time, at a place, or once someone is present."""

    at: str = ""
    place_id: str = ""
    present: tuple[str, ...] = ()


class Style(msgspec.Struct, frozen=True):
    """How a world is told. `own_prose_share` limits how much earlier prose a prompt repeats."""

    prose: str = ""
    reply_tokens: int = 400
    temperature: float = 0.85
    own_prose_share: float = 0.5
    card_instructions: bool = False


class AuthorNote(msgspec.Struct, frozen=True):
    """A note to the model that the player keeps in front of it, this many messages from the end."""

    text: str = ""
    depth: int = 4


class Passage(msgspec.Struct, frozen=True):
    """A part of a message: something said, something done, or a word outside the story."""

    kind: Literal["speech", "action", "outside"]
    text: str


def edge_key(source: str, target: str) -> str:
    """The key of the edge from one person to another."""
    return f"{source}>{target}"
