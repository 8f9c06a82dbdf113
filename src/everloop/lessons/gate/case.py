"""The gate's input: everything that it may know of a lesson, as plain values."""

from datetime import datetime

import msgspec

from everloop.lessons.model.lifecycle import Status
from everloop.lessons.settings import GateRules


class Contributor(msgspec.Struct, frozen=True):
    """Who wrote something: the actor, and the session, empty if it is unknown."""

    actor: str
    session: str


class LessonUse(msgspec.Struct, frozen=True):
    """A use: an agent acted on the lesson."""

    position: int
    digest: str
    actor: str
    session: str


class FeedbackRecord(msgspec.Struct, frozen=True):
    """Feedback that was not withdrawn.

    `session` is the run of the host that relayed it, and `trusted_at` the position at which the
    user trusted that host; 0 if they do not. `heard_at` is where a door heard the user say the
    words that it quotes; 0 if none did. `guessed`: a model inferred it from a message.
    """

    position: int
    digest: str
    helpful: bool
    actor: str
    session: str = ""
    trusted_at: int = 0
    guessed: bool = False
    heard_at: int = 0


class VerdictRecord(msgspec.Struct, frozen=True):
    """A runner's verdict. `outside`: the runner was not under an agent's control."""

    position: int
    digest: str
    passed: bool
    outside: bool


class NarrativeRecord(msgspec.Struct, frozen=True):
    """The narrative. `evidenced`: it names a memory, or a quote was found in one."""

    position: int
    digest: str
    confidence: str
    evidenced: bool


class CitedMemory(msgspec.Struct, frozen=True):
    """A memory that the lesson cites; `position` is 0 if it does not exist.

    `changed_at` is the position of its last edit; `retired`: it was retired; `hands` are all who
    wrote a version of it, or of anything it was derived from.
    """

    item_id: str
    position: int = 0
    changed_at: int = 0
    scope: str = ""
    restricted: bool = False
    retired: bool = False
    hands: frozenset[Contributor] = frozenset()


class RelayedPromotion(msgspec.Struct, frozen=True):
    """A promotion of another lesson that depends on praise relayed by a host."""

    actor: str
    at: datetime


class GateCase(msgspec.Struct, frozen=True):
    """Everything that the gate may know of a lesson.

    `written_at` and `words_at` are the time and the position of its current text; `hands` are all
    who wrote it, and the user as well if it claims to be the user's. `looked`: the user activated
    the current text in person. `rules` are those of the log, None if it has none.
    """

    lesson_id: str
    status: Status
    scope: str
    position: int
    words_at: int
    written_at: datetime
    now: datetime
    digest: str
    hands: frozenset[Contributor]
    uses: tuple[LessonUse, ...] = ()
    heard: tuple[FeedbackRecord, ...] = ()
    tried: tuple[VerdictRecord, ...] = ()
    told: NarrativeRecord | None = None
    cited: tuple[CitedMemory, ...] = ()
    looked: bool = False
    relayed: tuple[RelayedPromotion, ...] = ()
    rules: GateRules | None = None
