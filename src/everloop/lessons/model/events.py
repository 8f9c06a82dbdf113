"""What can happen to a lesson. An agent proposes; only facts from outside it can carry it further.

Who speaks is the fact's `actor`, decided by the door. `session` is the door's name for the run the
words came from. What a host says in the user's name is `relayed`: it counts as the user's word only
while the user trusts that host.
"""

from typing import ClassVar

import msgspec

from everloop.log import Event, event


class MemoryEvidence(msgspec.Struct, frozen=True, tag="memory"):
    """A memory that the lesson stands on."""

    item_id: str


class QuoteEvidence(msgspec.Struct, frozen=True, tag="quote"):
    """Words that were said. `found_in` is the item that holds them verbatim; empty: nobody's."""

    text: str
    found_in: str = ""


Evidence = MemoryEvidence | QuoteEvidence


class Narrative(msgspec.Struct, frozen=True):
    """Why the lesson holds: what set it off, what went wrong, what put it right."""

    trigger: str
    failure_mode: str
    correction: str
    confidence: str  # observed, inferred or speculative
    evidence: tuple[Evidence, ...] = ()


class Source(msgspec.Struct, frozen=True):
    """Where a capture adapter read a proposal. `name` is a file's name, never its path."""

    kind: str  # auto_memory, transcript, learnings_md, jsonl
    name: str
    digest: str  # of what was read: the same twice is proposed once


@event("lessons.lesson_proposed")
class LessonProposed(Event, frozen=True):
    """Someone put a rule forward. Nothing trusts it yet.

    `author` is whose words they are: `user`, `agent` or `pack`. If it is `user` or `pack` and the
    actor is a host, they are relayed. If it was made from something that was said, it goes with
    that; when that is reworded, its own words stay.
    """

    lasting: ClassVar[bool] = True

    lesson_id: str
    description: str
    body: str
    scope: str
    author: str
    session: str
    evidence: tuple[Evidence, ...]
    pack_id: str
    external_id: str
    source: Source | None
    target_skill: str


@event("lessons.lesson_edited")
class LessonEdited(Event, frozen=True):
    """Its words were changed. Verdicts, uses and praise of the older words no longer count.

    What was derived from the older words is gone until it is made again.
    """

    supersedes: ClassVar[bool] = True

    lesson_id: str
    description: str
    body: str
    session: str


@event("lessons.lesson_narrated")
class LessonNarrated(Event, frozen=True):
    """Its causal narrative was written: by hand, or by the model named in `model`."""

    lesson_id: str
    text_digest: str
    narrative: Narrative
    model: str
    session: str


@event("lessons.narrative_refused")
class NarrativeRefused(Event, frozen=True):
    """A model said that it cannot tell why the lesson would hold."""

    lesson_id: str
    text_digest: str
    reason: str
    model: str


@event("lessons.lesson_activated")
class LessonActivated(Event, frozen=True):
    """It is on trial: manifests show it, with its standing."""

    lesson_id: str


@event("lessons.lesson_used")
class LessonUsed(Event, frozen=True):
    """An agent says that it acted on the lesson; not merely that it was shown."""

    lesson_id: str
    text_digest: str
    session: str
    use_id: str


@event("lessons.feedback_given")
class FeedbackGiven(Event, frozen=True):
    """Someone says that a lesson helped, or that it harmed.

    `channel` is `thumbs` or `sentiment`; `confidence` is 1 for thumbs. `relayed`: a host says that
    the user said so.
    """

    lesson_id: str
    text_digest: str
    helpful: bool
    signal_id: str
    channel: str
    confidence: float
    relayed: bool
    session: str


@event("lessons.feedback_withdrawn")
class FeedbackWithdrawn(Event, frozen=True):
    """The user took a signal back."""

    lesson_id: str
    signal_id: str


@event("lessons.verdict_recorded")
class VerdictRecorded(Event, frozen=True):
    """A runner tried it. `outside` says that the runner was not in the agent's hands."""

    lesson_id: str
    text_digest: str
    passed: bool
    exit_code: int
    command: str
    output_digest: str
    outside: bool
    session: str


@event("lessons.lesson_promoted")
class LessonPromoted(Event, frozen=True):
    """The gate let it through.

    What it stood on is in the fact's `because`: if that goes, so does this.
    """

    lesson_id: str
    text_digest: str
    cited: tuple[str, ...]


@event("lessons.lesson_seeded")
class LessonSeeded(Event, frozen=True):
    """A pack that the user installed brought the lesson in as promoted."""

    lesson_id: str
    text_digest: str
    pack_id: str


@event("lessons.promotion_refused")
class PromotionRefused(Event, frozen=True):
    """The gate said no. We keep the refusal: it is how the gate is audited."""

    lesson_id: str
    text_digest: str
    reasons: tuple[str, ...]


@event("lessons.lesson_demoted")
class LessonDemoted(Event, frozen=True):
    """A promoted lesson is on trial again: its evidence is gone, or someone says it harmed."""

    lesson_id: str
    reason: str


@event("lessons.lesson_discarded")
class LessonDiscarded(Event, frozen=True):
    """Nobody wants it any more. `forced`: although a user wrote it."""

    lesson_id: str
    reason: str
    forced: bool


@event("lessons.lesson_superseded")
class LessonSuperseded(Event, frozen=True):
    """Another lesson took its place."""

    lasting: ClassVar[bool] = True

    lesson_id: str
    by: str
    forced: bool


@event("lessons.manifest_shown")
class ManifestShown(Event, frozen=True):
    """A host's model was shown these lessons. Being shown is not being used."""

    lesson_ids: tuple[str, ...]
    context_id: str
    session: str


@event("lessons.sentiment_abstained")
class SentimentAbstained(Event, frozen=True):
    """A user's words sounded like feedback, and we could not tell of what: with the reasons.

    `lessons/sentiment` decides it, once for each turn.
    """

    session: str
    turn_id: str
    lesson_ids: tuple[str, ...]
    reasons: tuple[str, ...]


@event("lessons.host_trusted")
class HostTrusted(Event, frozen=True):
    """The user trusts a host to pass on their words."""

    host: str


@event("lessons.host_distrusted")
class HostDistrusted(Event, frozen=True):
    """No longer. What it relayed stays recorded, and counts no more.

    It takes the place of the trust: what rested on that is gone.
    """

    supersedes: ClassVar[bool] = True

    host: str


@event("lessons.phase_logged")
class PhaseLogged(Event, frozen=True):
    """A host reached a phase of its task; each phase is logged once."""

    task_id: str
    phase: str
    note: str


LessonEvent = (
    LessonProposed
    | LessonEdited
    | LessonNarrated
    | NarrativeRefused
    | LessonActivated
    | LessonUsed
    | FeedbackGiven
    | FeedbackWithdrawn
    | VerdictRecorded
    | LessonPromoted
    | LessonSeeded
    | PromotionRefused
    | LessonDemoted
    | LessonDiscarded
    | LessonSuperseded
)
