"""Idempotency of thread commands: which events show that a request was carried out before.

See `everloop.log.idempotency`.
"""

from everloop.log.idempotency import IdempotencyRule, IdempotencyRules
from everloop.thread.model import commands as c
from everloop.thread.model import events as e

THREAD_TRACES: IdempotencyRules = {
    c.OpenThread: IdempotencyRule("open", (e.ThreadOpened,), ("thread_id", "title")),
    c.RenameThread: IdempotencyRule("rename", (e.ThreadRenamed,), ("thread_id", "title")),
    c.ArchiveThread: IdempotencyRule("archive", (e.ThreadArchived,), ("thread_id",)),
    c.RestoreThread: IdempotencyRule("archive", (e.ThreadRestored,), ("thread_id",)),
    c.PinThread: IdempotencyRule("pin", (e.ThreadPinned,), ("thread_id",)),
    c.UnpinThread: IdempotencyRule("pin", (e.ThreadUnpinned,), ("thread_id",)),
    c.RecordTurn: IdempotencyRule(
        "again", (e.TurnRecorded,), ("thread_id", "turn_id", "message_id")
    ),
    c.HideMessage: IdempotencyRule("hide", (e.MessageHidden,), ("thread_id", "message_id")),
    c.UnhideMessage: IdempotencyRule("hide", (e.MessageUnhidden,), ("thread_id", "message_id")),
    c.OpenTopic: IdempotencyRule("note", (e.TopicOpened,), ("thread_id", "topic_id", "title")),
    c.NoteDecision: IdempotencyRule(
        "note", (e.DecisionNoted,), ("thread_id", "decision_id", "text")
    ),
    c.NoteIntent: IdempotencyRule("note", (e.IntentNoted,), ("thread_id", "intent_id", "text")),
    c.NoteTopic: IdempotencyRule("noted", (e.TopicNoted,), ("thread_id", "topic_id", "note")),
    c.CloseTopic: IdempotencyRule("settle", (e.TopicClosed,), ("thread_id", "topic_id")),
    c.SetInstructions: IdempotencyRule("instruct", (e.InstructionsSet,), ("thread_id",)),
    c.SettleIntent: IdempotencyRule("settle", (e.IntentSettled,), ("thread_id", "intent_id")),
}
