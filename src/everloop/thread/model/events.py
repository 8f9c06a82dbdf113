"""Events of a conversation: threads, messages, turns, imports, notes and summaries.

A turn is one question and its answer. It is recorded before anything is sent to a model, and each
of its phases is an event, so the log is correct even if a process crashes in the middle.
"""

from typing import Any

import msgspec

from everloop.log import Event, event, upcast
from everloop.turns.settings import AnswerOptions


class Attachment(msgspec.Struct, frozen=True):
    """A file attached to a message. Its bytes are stored under their digest."""

    digest: str
    name: str
    media_type: str
    size: int


@event("thread.thread_opened")
class ThreadOpened(Event, frozen=True):
    """A thread was created. `home` is the one that every log has."""

    thread_id: str
    title: str


@event("thread.thread_renamed")
class ThreadRenamed(Event, frozen=True):
    """A thread got a new title."""

    thread_id: str
    title: str


@event("thread.thread_archived")
class ThreadArchived(Event, frozen=True):
    """A thread was archived; nothing in it is deleted."""

    thread_id: str


@event("thread.thread_restored")
class ThreadRestored(Event, frozen=True):
    """An archived thread was restored."""

    thread_id: str


@event("thread.thread_pinned")
class ThreadPinned(Event, frozen=True):
    """A thread was pinned: it stands above the others in lists."""

    thread_id: str


@event("thread.thread_unpinned")
class ThreadUnpinned(Event, frozen=True):
    """A thread is no longer pinned."""

    thread_id: str


@event("thread.message_sent")
class MessageSent(Event, frozen=True):
    """A person sent a message. `device` is the device it was sent from."""

    thread_id: str
    message_id: str
    text: str
    attachments: tuple[Attachment, ...]
    device: str


@event("thread.turn_recorded", schema=2)
class TurnRecorded(Event, frozen=True):
    """An answer to a message was requested. It is queued while another turn is open.

    `options` says which model is to answer, and how; empty: as configured.
    """

    thread_id: str
    turn_id: str
    message_id: str
    options: AnswerOptions


@upcast("thread.turn_recorded", from_schema=1)
def _as_configured(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "options": {}}


@event("thread.turn_sending")
class TurnSending(Event, frozen=True):
    """The prompt is being sent to a model. Only the event that ends the turn tells the outcome.

    `context_id` names the ledger of the prompt; `conductor` is the process that sends it.
    """

    thread_id: str
    turn_id: str
    answer_id: str
    model: str
    context_id: str
    conductor: str


@event("thread.turn_streaming")
class TurnStreaming(Event, frozen=True):
    """The first text of the answer arrived."""

    thread_id: str
    turn_id: str


@event("thread.answer_saved")
class AnswerSaved(Event, frozen=True):
    """The text of an answer since the last save. A long answer is saved while it streams."""

    thread_id: str
    turn_id: str
    text: str


@event("thread.tool_used")
class ToolUsed(Event, frozen=True):
    """A model called a tool and got this result. `arguments` is JSON."""

    thread_id: str
    turn_id: str
    call_id: str
    name: str
    arguments: str
    result: str
    failed: bool


@event("thread.reasoning_given")
class ReasoningGiven(Event, frozen=True):
    """What a model thought before it answered. It is shown, and never sent or remembered."""

    thread_id: str
    turn_id: str
    text: str


@event("thread.answer_given")
class AnswerGiven(Event, frozen=True):
    """The complete answer. The turn is done."""

    thread_id: str
    turn_id: str
    message_id: str
    text: str
    model: str
    finish: str  # stop, length or refused


@event("thread.turn_stopped")
class TurnStopped(Event, frozen=True):
    """A turn was stopped by a person. The text received so far is kept."""

    thread_id: str
    turn_id: str
    message_id: str
    text: str


@event("thread.turn_failed")
class TurnFailed(Event, frozen=True):
    """The model failed. The text received so far is kept; `hint` says what to do next."""

    thread_id: str
    turn_id: str
    message_id: str
    text: str
    reason: str
    hint: str


@event("thread.turn_left_uncertain")
class TurnLeftUncertain(Event, frozen=True):
    """A turn was sent and its outcome is unknown. It is never sent again automatically."""

    thread_id: str
    turn_id: str
    message_id: str
    text: str


@event("thread.report_posted")
class ReportPosted(Event, frozen=True):
    """A message of Everloop itself: how something ended that ran beside the conversation.

    `subject` is what it is about, such as `task:tsk-1`.
    """

    thread_id: str
    message_id: str
    text: str
    subject: str


@event("thread.message_hidden")
class MessageHidden(Event, frozen=True):
    """A message was hidden, from the page and from prompts."""

    thread_id: str
    message_id: str


@event("thread.message_unhidden")
class MessageUnhidden(Event, frozen=True):
    """A hidden message was shown again."""

    thread_id: str
    message_id: str


@event("thread.import_begun")
class ImportBegun(Event, frozen=True):
    """An import of conversations began. Retracting this event removes the whole import.

    The event without a thread is the import as a whole; each thread's own derives from it.
    """

    thread_id: str
    import_id: str
    source: str
    name: str


@event("thread.message_imported", schema=2)
class MessageImported(Event, frozen=True):
    """A message was imported from another program, with the time given by its source."""

    thread_id: str
    message_id: str
    role: str  # user or assistant
    text: str
    said_at: str
    author: str
    external_id: str
    attachments: tuple[Attachment, ...]


@upcast("thread.message_imported", from_schema=1)
def _without_attachments(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "attachments": ()}


@event("thread.files_found")
class FilesFound(Event, frozen=True):
    """Files were added to a message that an earlier import had brought in without them."""

    thread_id: str
    message_id: str
    attachments: tuple[Attachment, ...]


@event("thread.import_ended")
class ImportEnded(Event, frozen=True):
    """An import was completed."""

    thread_id: str
    import_id: str
    messages: int


@event("thread.topic_opened")
class TopicOpened(Event, frozen=True):
    """A topic was opened: something to come back to."""

    thread_id: str
    topic_id: str
    title: str


@event("thread.topic_noted")
class TopicNoted(Event, frozen=True):
    """The current state of a topic was noted."""

    thread_id: str
    topic_id: str
    note: str


@event("thread.topic_closed")
class TopicClosed(Event, frozen=True):
    """A topic was closed."""

    thread_id: str
    topic_id: str


@event("thread.decision_noted")
class DecisionNoted(Event, frozen=True):
    """A decision was noted."""

    thread_id: str
    decision_id: str
    topic_id: str
    text: str


@event("thread.intent_noted")
class IntentNoted(Event, frozen=True):
    """An intent was noted: something still to do."""

    thread_id: str
    intent_id: str
    text: str


@event("thread.intent_settled")
class IntentSettled(Event, frozen=True):
    """An intent was done, or is no longer wanted."""

    thread_id: str
    intent_id: str


@event("thread.day_marked")
class DayMarked(Event, frozen=True):
    """A day was marked as important, or no longer is."""

    thread_id: str
    day: str
    important: bool


@event("thread.window_summarised")
class WindowSummarised(Event, frozen=True):
    """A time window was summarised; the memory item `item_id` has the text.

    `upto` is the newest message that the summary covers: a later one makes it stale.
    """

    thread_id: str
    window: str
    item_id: str
    upto: int


@event("thread.window_failed")
class WindowFailed(Event, frozen=True):
    """Summarising a time window failed. It is retried later."""

    thread_id: str
    window: str
    upto: int
    reason: str


@event("thread.instructions_set")
class InstructionsSet(Event, frozen=True):
    """The user's instructions for a thread, or for all without one; an empty text ends them."""

    thread_id: str
    text: str


@event("thread.zone_set")
class ZoneSet(Event, frozen=True):
    """The person's IANA time zone changed. Days that are over keep theirs."""

    zone: str


ThreadEvent = (
    ThreadOpened
    | ThreadRenamed
    | ThreadArchived
    | ThreadRestored
    | ThreadPinned
    | ThreadUnpinned
    | MessageSent
    | TurnRecorded
    | TurnSending
    | TurnStreaming
    | AnswerSaved
    | ToolUsed
    | ReasoningGiven
    | AnswerGiven
    | TurnStopped
    | TurnFailed
    | TurnLeftUncertain
    | MessageHidden
    | MessageUnhidden
    | ImportBegun
    | MessageImported
    | ImportEnded
    | TopicOpened
    | TopicNoted
    | TopicClosed
    | DecisionNoted
    | IntentNoted
    | IntentSettled
    | DayMarked
    | WindowSummarised
    | WindowFailed
)
