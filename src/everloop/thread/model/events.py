"""What can happen in a conversation.

A turn is one question and its answer. It is recorded before anything is sent to a model, and each
of its phases is a fact, so that a process that dies in the middle leaves the truth behind.
"""

from typing import Any

import msgspec

from everloop.log import Event, event, upcast


class Attachment(msgspec.Struct, frozen=True):
    """A file beside a message. Its bytes are kept under their digest."""

    digest: str
    name: str
    media_type: str
    size: int


@event("thread.thread_opened")
class ThreadOpened(Event, frozen=True):
    """A conversation began. `home` is the one that everybody has."""

    thread_id: str
    title: str


@event("thread.thread_renamed")
class ThreadRenamed(Event, frozen=True):
    """It has another title."""

    thread_id: str
    title: str


@event("thread.thread_archived")
class ThreadArchived(Event, frozen=True):
    """It was put away; nothing of it is lost."""

    thread_id: str


@event("thread.thread_restored")
class ThreadRestored(Event, frozen=True):
    """It was taken out again."""

    thread_id: str


@event("thread.message_sent")
class MessageSent(Event, frozen=True):
    """A person said something. `device` is where."""

    thread_id: str
    message_id: str
    text: str
    attachments: tuple[Attachment, ...]
    device: str


@event("thread.turn_recorded")
class TurnRecorded(Event, frozen=True):
    """An answer to a message is wanted. It waits while another turn of the thread is open."""

    thread_id: str
    turn_id: str
    message_id: str


@event("thread.turn_sending")
class TurnSending(Event, frozen=True):
    """The prompt goes to a model now. From here on, only its end says what became of it.

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
    """The first words came."""

    thread_id: str
    turn_id: str


@event("thread.answer_saved")
class AnswerSaved(Event, frozen=True):
    """What came of an answer since it was last saved. A long answer is saved as it goes on."""

    thread_id: str
    turn_id: str
    text: str


@event("thread.tool_used")
class ToolUsed(Event, frozen=True):
    """A model asked for a tool, and this is what it was given. `arguments` is JSON."""

    thread_id: str
    turn_id: str
    call_id: str
    name: str
    arguments: str
    result: str
    failed: bool


@event("thread.answer_given")
class AnswerGiven(Event, frozen=True):
    """The answer, whole. The turn is done."""

    thread_id: str
    turn_id: str
    message_id: str
    text: str
    model: str
    finish: str  # stop, length or refused


@event("thread.turn_stopped")
class TurnStopped(Event, frozen=True):
    """A person stopped it. What had come is kept."""

    thread_id: str
    turn_id: str
    message_id: str
    text: str


@event("thread.turn_failed")
class TurnFailed(Event, frozen=True):
    """The model failed. What had come is kept, and `hint` says what to do next."""

    thread_id: str
    turn_id: str
    message_id: str
    text: str
    reason: str
    hint: str


@event("thread.turn_left_uncertain")
class TurnLeftUncertain(Event, frozen=True):
    """It was sent, and nobody knows what became of it. It is never sent again by itself."""

    thread_id: str
    turn_id: str
    message_id: str
    text: str


@event("thread.message_hidden")
class MessageHidden(Event, frozen=True):
    """A message is folded away, for people and for prompts."""

    thread_id: str
    message_id: str


@event("thread.message_unhidden")
class MessageUnhidden(Event, frozen=True):
    """It is there again."""

    thread_id: str
    message_id: str


@event("thread.import_begun")
class ImportBegun(Event, frozen=True):
    """Conversations from elsewhere come in. Retract this, and all of them are gone.

    The one without a thread is the whole import; that of each thread stands on it.
    """

    thread_id: str
    import_id: str
    source: str
    name: str


@event("thread.message_imported", schema=2)
class MessageImported(Event, frozen=True):
    """A message that was said elsewhere, at a time that its source claims."""

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
    """Files of a message that was imported without them, from an export that has them."""

    thread_id: str
    message_id: str
    attachments: tuple[Attachment, ...]


@event("thread.import_ended")
class ImportEnded(Event, frozen=True):
    """All of it is in."""

    thread_id: str
    import_id: str
    messages: int


@event("thread.topic_opened")
class TopicOpened(Event, frozen=True):
    """Something to come back to."""

    thread_id: str
    topic_id: str
    title: str


@event("thread.topic_noted")
class TopicNoted(Event, frozen=True):
    """Where a topic stands now."""

    thread_id: str
    topic_id: str
    note: str


@event("thread.topic_closed")
class TopicClosed(Event, frozen=True):
    """It is settled."""

    thread_id: str
    topic_id: str


@event("thread.decision_noted")
class DecisionNoted(Event, frozen=True):
    """Something was decided."""

    thread_id: str
    decision_id: str
    topic_id: str
    text: str


@event("thread.intent_noted")
class IntentNoted(Event, frozen=True):
    """What is to be done next, and has not been done."""

    thread_id: str
    intent_id: str
    text: str


@event("thread.intent_settled")
class IntentSettled(Event, frozen=True):
    """It was done, or is no longer wanted."""

    thread_id: str
    intent_id: str


@event("thread.day_marked")
class DayMarked(Event, frozen=True):
    """A day matters more than others, or no longer does."""

    thread_id: str
    day: str
    important: bool


@event("thread.window_summarised")
class WindowSummarised(Event, frozen=True):
    """A stretch of the past was put in fewer words: the item holds them.

    `upto` is the newest message that was taken into account: a later one makes it stale.
    """

    thread_id: str
    window: str
    item_id: str
    upto: int


@event("thread.window_failed")
class WindowFailed(Event, frozen=True):
    """Nobody could put it in fewer words just now. It is tried again."""

    thread_id: str
    window: str
    upto: int
    reason: str


@event("thread.zone_set")
class ZoneSet(Event, frozen=True):
    """Where the person is, as an IANA time zone. Windows that are closed keep theirs."""

    zone: str


@event("thread.model_called")
class ModelCalled(Event, frozen=True):
    """What a call of a model took. `cost_usd` is -1 where the price is not known."""

    purpose: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float
    duration_s: float
    turn_id: str


ThreadEvent = (
    ThreadOpened
    | ThreadRenamed
    | ThreadArchived
    | ThreadRestored
    | MessageSent
    | TurnRecorded
    | TurnSending
    | TurnStreaming
    | AnswerSaved
    | ToolUsed
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
