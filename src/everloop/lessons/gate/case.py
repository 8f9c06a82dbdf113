"""A lesson before the gate: plain values, all that the gate may know of it."""

from datetime import datetime

import msgspec

from everloop.lessons.model.lifecycle import Status


class Hand(msgspec.Struct, frozen=True):
    """Who wrote something, and in which run of theirs; an empty session is an unknown one."""

    actor: str
    session: str


class Use(msgspec.Struct, frozen=True):
    """Someone acted on the lesson."""

    position: int
    digest: str
    actor: str
    session: str


class Heard(msgspec.Struct, frozen=True):
    """Praise or blame that was not withdrawn.

    `session` is the run of who passed it on, and `trusted_at` where the user said that they trust
    them; 0: they do not. `guessed`: a model read it out of what the user said.
    """

    position: int
    digest: str
    helpful: bool
    actor: str
    session: str = ""
    trusted_at: int = 0
    guessed: bool = False


class Tried(msgspec.Struct, frozen=True):
    """What a runner found. `outside`: it was not in an agent's hands."""

    position: int
    digest: str
    passed: bool
    outside: bool


class Told(msgspec.Struct, frozen=True):
    """The narrative. `evidenced`: it names a memory, or quotes words that were found."""

    position: int
    digest: str
    confidence: str
    evidenced: bool


class CitedMemory(msgspec.Struct, frozen=True):
    """A memory that the lesson names; `position` 0: there is none.

    `changed_at` is where it was last reworded; `retired`: somebody let it go; `hands` are all who
    had a part in it, and in what it was made from.
    """

    item_id: str
    position: int = 0
    changed_at: int = 0
    scope: str = ""
    restricted: bool = False
    retired: bool = False
    hands: frozenset[Hand] = frozenset()


class Case(msgspec.Struct, frozen=True):
    """Everything that the gate may know of a lesson.

    `written_at` and `words_at` are when and where its words were last changed; `hands` are all who
    wrote them, and the user as well if they are said to be the user's.
    """

    lesson_id: str
    status: Status
    scope: str
    position: int
    words_at: int
    written_at: datetime
    now: datetime
    digest: str
    hands: frozenset[Hand]
    uses: tuple[Use, ...] = ()
    heard: tuple[Heard, ...] = ()
    tried: tuple[Tried, ...] = ()
    told: Told | None = None
    cited: tuple[CitedMemory, ...] = ()
