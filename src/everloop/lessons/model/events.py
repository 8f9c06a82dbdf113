"""The events of lessons, hosts and tasks. Agents propose; only outside facts lead to promotion.

The door sets the fact's `actor`. `session` is the door's name for the run that wrote it. What a
host reports in the user's name is `relayed`: it counts only while the user trusts that host.
"""

from typing import ClassVar

import msgspec

from everloop.log import Event, event


class MemoryEvidence(msgspec.Struct, frozen=True, tag="memory"):
    """A memory that the lesson cites."""

    item_id: str


class QuoteEvidence(msgspec.Struct, frozen=True, tag="quote"):
    """A quote. `found_in` is the item that contains it verbatim; empty if none does."""

    text: str
    found_in: str = ""


Evidence = MemoryEvidence | QuoteEvidence


class Narrative(msgspec.Struct, frozen=True):
    """Why the lesson holds: the trigger, the failure and the correction."""

    trigger: str
    failure_mode: str
    correction: str
    confidence: str  # observed, inferred or speculative
    evidence: tuple[Evidence, ...] = ()


class Source(msgspec.Struct, frozen=True):
    """The file that a capture adapter read a proposal from. `name` is never a path."""

    kind: str  # auto_memory, transcript, learnings_md, jsonl
    name: str
    digest: str  # of what was read; the same content is proposed once


@event("lessons.lesson_proposed")
class LessonProposed(Event, frozen=True):
    """A lesson was proposed. Nothing trusts it yet.

    `author` is who wrote it: `user`, `agent` or `pack`; it is relayed if the actor is a host and
    the author is not `agent`. A lesson made from a message is retracted with that message, and
    stays if the message is only edited.
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
    """Its text was edited. Verdicts, uses and praise of the older text no longer count.

    What was derived from the older text is gone until it is derived again.
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
    """A model could not explain why the lesson holds."""

    lesson_id: str
    text_digest: str
    reason: str
    model: str


@event("lessons.lesson_activated")
class LessonActivated(Event, frozen=True):
    """It became active, that is, on trial: manifests show it with its gate result."""

    lesson_id: str


@event("lessons.lesson_used")
class LessonUsed(Event, frozen=True):
    """An agent reports that it acted on the lesson; being shown it is not a use."""

    lesson_id: str
    text_digest: str
    session: str
    use_id: str


@event("lessons.feedback_given")
class FeedbackGiven(Event, frozen=True):
    """Feedback was given: a lesson helped, or it harmed.

    `channel` is `thumbs` or `sentiment`; `confidence` is 1 for thumbs. `relayed`: a host reported
    it in the user's name.
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
    """The user withdrew a feedback signal."""

    lesson_id: str
    signal_id: str


@event("lessons.verdict_recorded")
class VerdictRecorded(Event, frozen=True):
    """A runner tried it. `outside`: the runner was not under an agent's control."""

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
    """The gate promoted it.

    The fact's `because` are the facts it depends on: if one is retracted, so is the promotion.
    """

    lesson_id: str
    text_digest: str
    cited: tuple[str, ...]


@event("lessons.lesson_seeded")
class LessonSeeded(Event, frozen=True):
    """The user installed a pack that contained the lesson as promoted."""

    lesson_id: str
    text_digest: str
    pack_id: str


@event("lessons.promotion_refused")
class PromotionRefused(Event, frozen=True):
    """The gate refused to promote it. Refusals are recorded so that the gate can be audited."""

    lesson_id: str
    text_digest: str
    reasons: tuple[str, ...]


@event("lessons.lesson_demoted")
class LessonDemoted(Event, frozen=True):
    """A promoted lesson is active again: its evidence is gone, or it was reported as harmful."""

    lesson_id: str
    reason: str


@event("lessons.lesson_discarded")
class LessonDiscarded(Event, frozen=True):
    """It was discarded. `forced`: although a user wrote it."""

    lesson_id: str
    reason: str
    forced: bool


@event("lessons.lesson_superseded")
class LessonSuperseded(Event, frozen=True):
    """Another lesson replaced it."""

    lasting: ClassVar[bool] = True

    lesson_id: str
    by: str
    forced: bool


@event("lessons.manifest_shown")
class ManifestShown(Event, frozen=True):
    """A host's model was shown these lessons in a manifest. That is not a use."""

    lesson_ids: tuple[str, ...]
    context_id: str
    session: str


@event("lessons.sentiment_abstained")
class SentimentAbstained(Event, frozen=True):
    """A message sounded like feedback, but no signal was taken from it, for these reasons.

    `lessons/feedback` decides it, once for each turn.
    """

    session: str
    turn_id: str
    lesson_ids: tuple[str, ...]
    reasons: tuple[str, ...]


@event("lessons.host_trusted")
class HostTrusted(Event, frozen=True):
    """The user trusts a host to relay their words."""

    host: str


@event("lessons.host_distrusted")
class HostDistrusted(Event, frozen=True):
    """The user no longer trusts a host. What it relayed stays recorded, but no longer counts.

    It supersedes the trust, so what depended on that is gone.
    """

    supersedes: ClassVar[bool] = True

    host: str


@event("lessons.words_heard")
class WordsHeard(Event, frozen=True):
    """A door heard what the user said to a trusted host: from its hook, or its transcript.

    No host can record it by a request. Praise that the host relays counts only if it quotes this.
    """

    session: str
    text: str


@event("lessons.gate_rules_set")
class GateRulesSet(Event, frozen=True):
    """The thresholds of the gate were set in the log; no settings file makes them looser.

    The engine records them once, from the settings at the first proposal or request to promote;
    later only the user changes them.
    """

    age_hours_min: float
    uses_min: int
    supports_min: int
    origins_min: int
    relayed_per_day_max: int
    citations_min: int


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
