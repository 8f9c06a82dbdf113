"""Idempotency of lesson commands: how a repeated request is recognised in the log.

See `everloop.log.idempotency`.
"""

from everloop.lessons.model.commands import (
    ActivateLesson,
    DiscardLesson,
    EditLesson,
    GiveFeedback,
    NarrateLesson,
    PromoteLesson,
    ProposeLesson,
    RecordVerdict,
    SupersedeLesson,
    UseLesson,
    WithdrawFeedback,
)
from everloop.lessons.model.events import (
    FeedbackGiven,
    FeedbackWithdrawn,
    LessonActivated,
    LessonDiscarded,
    LessonEdited,
    LessonNarrated,
    LessonPromoted,
    LessonProposed,
    LessonSuperseded,
    LessonUsed,
    PromotionRefused,
    VerdictRecorded,
)
from everloop.log.idempotency import IdempotencyRule, IdempotencyRules

_NARRATIVE_FIELDS = tuple(f"narrative.{name}" for name in ("trigger", "failure_mode", "correction"))

LESSON_TRACES: IdempotencyRules = {
    ProposeLesson: IdempotencyRule(
        "propose", (LessonProposed,), ("lesson_id", "description", "body", "scope")
    ),
    EditLesson: IdempotencyRule("edit", (LessonEdited,), ("lesson_id", "description", "body")),
    NarrateLesson: IdempotencyRule(
        "narrate", (LessonNarrated,), ("lesson_id", *_NARRATIVE_FIELDS, "narrative.confidence")
    ),
    ActivateLesson: IdempotencyRule("activate", (LessonActivated,), ("lesson_id",)),
    PromoteLesson: IdempotencyRule("promote", (LessonPromoted, PromotionRefused), ("lesson_id",)),
    DiscardLesson: IdempotencyRule("discard", (LessonDiscarded,), ("lesson_id", "reason")),
    SupersedeLesson: IdempotencyRule("supersede", (LessonSuperseded,), ("lesson_id", "by")),
    UseLesson: IdempotencyRule("use", (LessonUsed,), ("lesson_id", "use_id")),
    GiveFeedback: IdempotencyRule(
        "feedback", (FeedbackGiven,), ("lesson_id", "helpful", "signal_id")
    ),
    WithdrawFeedback: IdempotencyRule("withdraw", (FeedbackWithdrawn,), ("lesson_id", "signal_id")),
    RecordVerdict: IdempotencyRule(
        "verdict", (VerdictRecorded,), ("lesson_id", "passed", "output_digest")
    ),
}
