"""Idempotency of thread commands: which events show that a request was carried out before.

See `everloop.log.idempotency`.
"""

from everloop.log.idempotency import Trace, Traces
from everloop.thread.model import commands as c
from everloop.thread.model import events as e

THREAD_TRACES: Traces = {
    c.OpenThread: Trace("open", (e.ThreadOpened,), ("thread_id", "title")),
    c.RenameThread: Trace("rename", (e.ThreadRenamed,), ("thread_id", "title")),
    c.ArchiveThread: Trace("archive", (e.ThreadArchived,), ("thread_id",)),
    c.RestoreThread: Trace("archive", (e.ThreadRestored,), ("thread_id",)),
    c.RecordTurn: Trace("again", (e.TurnRecorded,), ("thread_id", "turn_id", "message_id")),
    c.HideMessage: Trace("hide", (e.MessageHidden,), ("thread_id", "message_id")),
    c.UnhideMessage: Trace("hide", (e.MessageUnhidden,), ("thread_id", "message_id")),
    c.OpenTopic: Trace("note", (e.TopicOpened,), ("thread_id", "topic_id", "title")),
    c.NoteDecision: Trace("note", (e.DecisionNoted,), ("thread_id", "decision_id", "text")),
    c.NoteIntent: Trace("note", (e.IntentNoted,), ("thread_id", "intent_id", "text")),
    c.NoteTopic: Trace("noted", (e.TopicNoted,), ("thread_id", "topic_id", "note")),
    c.CloseTopic: Trace("settle", (e.TopicClosed,), ("thread_id", "topic_id")),
    c.SettleIntent: Trace("settle", (e.IntentSettled,), ("thread_id", "intent_id")),
}
