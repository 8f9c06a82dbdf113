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
from everloop.log.idempotency import Trace, Traces

_NARRATIVE_FIELDS = tuple(f"narrative.{name}" for name in ("trigger", "failure_mode", "correction"))

LESSON_TRACES: Traces = {
    ProposeLesson: Trace(
        "propose", (LessonProposed,), ("lesson_id", "description", "body", "scope")
    ),
    EditLesson: Trace("edit", (LessonEdited,), ("lesson_id", "description", "body")),
    NarrateLesson: Trace(
        "narrate", (LessonNarrated,), ("lesson_id", *_NARRATIVE_FIELDS, "narrative.confidence")
    ),
    ActivateLesson: Trace("activate", (LessonActivated,), ("lesson_id",)),
    PromoteLesson: Trace("promote", (LessonPromoted, PromotionRefused), ("lesson_id",)),
    DiscardLesson: Trace("discard", (LessonDiscarded,), ("lesson_id", "reason")),
    SupersedeLesson: Trace("supersede", (LessonSuperseded,), ("lesson_id", "by")),
    UseLesson: Trace("use", (LessonUsed,), ("lesson_id", "use_id")),
    GiveFeedback: Trace("feedback", (FeedbackGiven,), ("lesson_id", "helpful", "signal_id")),
    WithdrawFeedback: Trace("withdraw", (FeedbackWithdrawn,), ("lesson_id", "signal_id")),
    RecordVerdict: Trace("verdict", (VerdictRecorded,), ("lesson_id", "passed", "output_digest")),
}
