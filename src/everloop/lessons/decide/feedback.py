"""Decisions about the signals of a lesson (uses, feedback, verdicts, narratives).

What counts depends on the actor, which the door sets; nothing in a request can change it.
"""

import msgspec

from everloop.errors import Forbidden, Invalid, NotFound
from everloop.lessons.decide.lesson import (
    check_unchanged,
    citation_drafts,
    demotion_drafts,
    lesson_draft,
    require_lesson,
    verify_evidence,
)
from everloop.lessons.model.commands import (
    GiveFeedback,
    NarrateLesson,
    RecordVerdict,
    RefuseNarrative,
    UseLesson,
    WithdrawFeedback,
)
from everloop.lessons.model.decision_context import lookup_of
from everloop.lessons.model.events import (
    FeedbackGiven,
    FeedbackWithdrawn,
    LessonNarrated,
    LessonUsed,
    NarrativeRefused,
    VerdictRecorded,
)
from everloop.lessons.model.lifecycle import Operation, next_status
from everloop.lessons.model.narrative import check_narrative
from everloop.lessons.model.state import Lesson
from everloop.log import DecisionContext, Draft
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.scopes import OWNER

FEEDBACK_CHANNELS = ("thumbs", "sentiment")
OUTSIDE_ACTORS = (OWNER, ENGINE)  # actors whose runners no agent controls


def use_lesson(lesson: Lesson | None, command: UseLesson, asking: DecisionContext) -> list[Draft]:
    """Record a use. `asking.known` are those who recorded it before: it counts once."""
    known = require_lesson(lesson, command.lesson_id)
    next_status(known.status, Operation.USE, known.lesson_id)
    if asking.known and (asking.by.actor, asking.by.session) in asking.known:
        return []
    used = LessonUsed(known.lesson_id, known.digest, asking.by.session, command.use_id)
    return [lesson_draft(known, used)]


def give_feedback(
    lesson: Lesson | None, command: GiveFeedback, asking: DecisionContext
) -> list[Draft]:
    """Record praise or blame; it is relayed if the user did not give it. Blame ends a promotion."""
    known = require_lesson(lesson, command.lesson_id)
    _check_feedback(command)
    named = (asking.by.actor, command.signal_id)
    if named in {(signal.actor, signal.signal_id) for signal in known.signals}:
        return []
    if command.helpful:
        check_unchanged(known, command.text_digest)
    next_status(
        known.status, Operation.PRAISE if command.helpful else Operation.BLAME, known.lesson_id
    )
    given = FeedbackGiven(
        lesson_id=known.lesson_id,
        text_digest=known.digest,
        helpful=command.helpful,
        signal_id=command.signal_id,
        channel=command.channel,
        confidence=command.confidence,
        relayed=asking.by.actor != OWNER,
        session=asking.by.session,
    )
    blamed = [] if command.helpful else demotion_drafts(known, "it was reported as harmful")
    heard_at = lookup_of(asking).heard_at.get(asking.by.actor, 0)
    heard = (heard_at,) if command.helpful and heard_at > known.words_at else ()
    return [lesson_draft(known, given, *command.because, *heard), *blamed]


def withdraw_feedback(
    lesson: Lesson | None, command: WithdrawFeedback, asking: DecisionContext
) -> list[Draft]:
    """Withdraw a signal, with a promotion that depended on it. Only the user can, in person."""
    known = require_lesson(lesson, command.lesson_id)
    if asking.by.actor != OWNER:
        raise Forbidden(
            f"{asking.by.actor} may not withdraw feedback", hint="Only the user can, in person."
        )
    named = [signal for signal in known.signals if signal.signal_id == command.signal_id]
    if not named:
        raise NotFound(
            f"no signal {command.signal_id!r} of {known.lesson_id!r}",
            hint="`everloop gate` shows the feedback on a lesson.",
        )
    taken = [signal.position for signal in named if signal.open]
    if not taken:
        return []
    next_status(known.status, Operation.WITHDRAW, known.lesson_id)
    withdrawn = lesson_draft(known, FeedbackWithdrawn(known.lesson_id, command.signal_id), *taken)
    stood_on = set(taken) & set(known.grounds)
    lost = demotion_drafts(known, "praise that it depended on was withdrawn") if stood_on else []
    return [withdrawn, *lost]


def record_verdict(
    lesson: Lesson | None, command: RecordVerdict, asking: DecisionContext
) -> list[Draft]:
    """Record a verdict. That of a runner under an agent's control is only a claim."""
    known = require_lesson(lesson, command.lesson_id)
    if command.passed and command.exit_code != 0:
        raise Invalid(
            f"a run that passed does not end with exit code {command.exit_code}",
            hint="Report the result that the runner gave.",
        )
    outside = asking.by.actor in OUTSIDE_ACTORS
    next_status(known.status, Operation.PASS if command.passed else Operation.FAIL, known.lesson_id)
    recorded = VerdictRecorded(
        lesson_id=known.lesson_id,
        text_digest=command.text_digest,
        passed=command.passed,
        exit_code=command.exit_code,
        command=command.command,
        output_digest=command.output_digest,
        outside=outside,
        session=asking.by.session,
    )
    fails = outside and not command.passed and command.text_digest == known.digest
    return [
        lesson_draft(known, recorded),
        *(demotion_drafts(known, "a verdict on it failed") if fails else []),
    ]


def narrate_lesson(
    lesson: Lesson | None, command: NarrateLesson, asking: DecisionContext
) -> list[Draft]:
    """Record why it holds, and cite the memories that the narrative names."""
    known = require_lesson(lesson, command.lesson_id)
    next_status(known.status, Operation.NARRATE, known.lesson_id)
    check_narrative(command.narrative)
    evidence = verify_evidence(command.narrative.evidence, asking)
    narrative = msgspec.structs.replace(command.narrative, evidence=evidence)
    session = asking.by.session
    narrated = LessonNarrated(known.lesson_id, known.digest, narrative, command.model, session)
    new = tuple(each for each in evidence if getattr(each, "item_id", "") not in known.cites)
    cited = citation_drafts(known.lesson_id, new, asking, by_user=known.protected)
    return [lesson_draft(known, narrated), *cited]


def refuse_narrative(
    lesson: Lesson | None, command: RefuseNarrative, asking: DecisionContext
) -> list[Draft]:
    """Record that a model could not explain why it holds."""
    del asking
    known = require_lesson(lesson, command.lesson_id)
    next_status(known.status, Operation.NARRATE, known.lesson_id)
    refused = NarrativeRefused(known.lesson_id, known.digest, command.reason, command.model)
    return [lesson_draft(known, refused)]


def _check_feedback(command: GiveFeedback) -> None:
    if not command.signal_id:
        raise Invalid(
            "feedback needs a signal id", hint="Give `signal_id`, so that it counts once."
        )
    if command.channel not in FEEDBACK_CHANNELS:
        raise Invalid(
            f"{command.channel!r} is not a feedback channel",
            hint=f"Use {' or '.join(FEEDBACK_CHANNELS)}.",
        )
    if not 0 <= command.confidence <= 1:
        raise Invalid(
            f"confidence {command.confidence} is not between 0 and 1", hint="Use 1 for thumbs."
        )
