"""Deciders of conversations: pure functions from state, command and actor to events.

`asking.known` is the position of the message that a command names, where one is needed.
"""

from datetime import date

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event
from everloop.log.model.facts import Retracted
from everloop.memory.model.scopes import OWNER
from everloop.thread.model import commands as c
from everloop.thread.model import events as e
from everloop.thread.model.decide_imports import validate_imported_message
from everloop.thread.model.state import (
    SENDING,
    WAITING,
    Conversation,
    EmptyState,
    EndedAnswer,
    InstructionsState,
    TimeZoneState,
)

ENGINE = "engine"
TITLE_MAX = 200
TEXT_MAX = 1_000_000
QUEUE_MAX = 20
INSTRUCTIONS_MAX = 8_000
TEMPERATURE_MAX = 2
INTERRUPTED = "The person interrupted the answer; only what was heard stays."


# -- threads ---------------------------------------------------------------------------------------


def open_thread(
    known: Conversation | None, command: c.OpenThread, _: DecisionContext
) -> list[Draft]:
    """Create a thread. Idempotent: a thread that exists stays as it is."""
    if known is not None:
        return []
    opened = e.ThreadOpened(command.thread_id, _clean_title(command.title))
    return [Draft(opened, command.because)]


def rename_thread(
    known: Conversation | None, command: c.RenameThread, _: DecisionContext
) -> list[Draft]:
    """Change the title of a thread."""
    thread, title = _require(known, command.thread_id), _clean_title(command.title)
    renamed = e.ThreadRenamed(command.thread_id, title)
    return [] if thread.title == title else _on_thread(thread, renamed)


def archive_thread(
    known: Conversation | None, command: c.ArchiveThread, _: DecisionContext
) -> list[Draft]:
    """Archive a thread. The home thread cannot be archived."""
    thread = _require(known, command.thread_id)
    if command.thread_id == c.HOME:
        raise Invalid("the home thread cannot be archived", hint="Archive another thread.")
    return [] if thread.archived else _on_thread(thread, e.ThreadArchived(command.thread_id))


def restore_thread(
    known: Conversation | None, command: c.RestoreThread, _: DecisionContext
) -> list[Draft]:
    """Restore an archived thread."""
    thread = _require(known, command.thread_id)
    return _on_thread(thread, e.ThreadRestored(command.thread_id)) if thread.archived else []


def pin_thread(known: Conversation | None, command: c.PinThread, _: DecisionContext) -> list[Draft]:
    """Pin a thread."""
    thread = _require(known, command.thread_id)
    return [] if thread.pinned else _on_thread(thread, e.ThreadPinned(command.thread_id))


def unpin_thread(
    known: Conversation | None, command: c.UnpinThread, _: DecisionContext
) -> list[Draft]:
    """Unpin a thread."""
    thread = _require(known, command.thread_id)
    return _on_thread(thread, e.ThreadUnpinned(command.thread_id)) if thread.pinned else []


# -- turns -----------------------------------------------------------------------------------------


def send_message(
    known: Conversation | None, command: c.SendMessage, asking: DecisionContext
) -> list[Draft]:
    """Record a message and, if an answer is requested, the turn that will answer it."""
    thread = _require(known, command.thread_id)
    _check_person(asking)
    if asking.known:
        raise Conflict(f"message {command.message_id!r} already exists", hint="Use a new id.")
    if not command.text.strip() and not command.attachments:
        raise Invalid("the message is empty", hint="Write something, or attach a file.")
    if len(command.text) > TEXT_MAX:
        raise Invalid(f"a message has at most {TEXT_MAX:,} characters", hint="Attach it as a file.")
    sent = e.MessageSent(
        command.thread_id, command.message_id, command.text, command.attachments, command.device
    )
    said = Draft(sent, (thread.position,))
    if not command.turn_id:
        return [said]
    _check_queue(thread)
    turn = _turn(command)
    return [said, Draft(turn, beside=(0,))]


def post_report(
    known: Conversation | None, command: c.PostReport, asking: DecisionContext
) -> list[Draft]:
    """Post a report of the engine, once."""
    _require(known, command.thread_id)
    _check_engine(asking)
    if asking.known:
        return []
    posted = e.ReportPosted(
        command.thread_id, command.message_id, command.text[:TEXT_MAX], command.subject
    )
    return [Draft(posted, command.because)]


def record_turn(
    known: Conversation | None, command: c.RecordTurn, asking: DecisionContext
) -> list[Draft]:
    """Request an answer to an existing message."""
    thread = _require(known, command.thread_id)
    _check_person(asking)
    if thread.turn(command.turn_id):
        return []
    _check_queue(thread)
    turn = _turn(command)
    return [Draft(turn, (_position_of(asking, command.message_id),))]


def begin_sending(
    known: Conversation | None, command: c.BeginSending, _: DecisionContext
) -> list[Draft]:
    """Claim the turn that is next in the queue; a no-op if it is claimed or not the next."""
    first = _require(known, command.thread_id).next_turn
    if first is None or first.turn_id != command.turn_id:
        return []
    sending = e.TurnSending(
        command.thread_id,
        command.turn_id,
        command.answer_id,
        command.model,
        command.context_id,
        command.conductor,
    )
    return [Draft(sending, (first.position, *command.because))]


def begin_streaming(
    known: Conversation | None, command: c.BeginStreaming, _: DecisionContext
) -> list[Draft]:
    """Record that the answer began to stream."""
    turn = _require(known, command.thread_id).turn(command.turn_id)
    if turn is None or turn.phase != SENDING:
        return []
    return [Draft(e.TurnStreaming(command.thread_id, command.turn_id), (turn.since,))]


def save_answer(
    known: Conversation | None, command: c.SaveAnswer, _: DecisionContext
) -> list[Draft]:
    """Save text of an answer. Text that arrives after the end of its turn is ignored."""
    turn = _require(known, command.thread_id).turn(command.turn_id)
    if turn is None:
        return []
    saved = e.AnswerSaved(command.thread_id, command.turn_id, command.text)
    return [Draft(saved, (turn.position,))]


def record_tool_use(
    known: Conversation | None, command: c.RecordToolUse, _: DecisionContext
) -> list[Draft]:
    """Record a tool call and its result."""
    turn = _require(known, command.thread_id).turn(command.turn_id)
    if turn is None:
        return []
    used = e.ToolUsed(
        command.thread_id,
        command.turn_id,
        command.call_id,
        command.name,
        command.arguments,
        command.result,
        command.failed,
    )
    return [Draft(used, (turn.position,))]


def record_reasoning(
    known: Conversation | None, command: c.RecordReasoning, _: DecisionContext
) -> list[Draft]:
    """Record what the model thought."""
    turn = _require(known, command.thread_id).turn(command.turn_id)
    if turn is None:
        return []
    given = e.ReasoningGiven(command.thread_id, command.turn_id, command.text)
    return [Draft(given, (turn.position,))]


def give_answer(
    known: Conversation | None, command: c.GiveAnswer, _: DecisionContext
) -> list[Draft]:
    """End a turn with its answer. A turn that has ended, such as a stopped one, is unchanged."""
    turn = _require(known, command.thread_id).turn(command.turn_id)
    if turn is None or turn.phase == WAITING:
        return []
    given = e.AnswerGiven(
        command.thread_id,
        command.turn_id,
        turn.answer_id,
        command.text,
        command.model,
        command.finish,
    )
    return [Draft(given, (turn.position,))]


def stop_turn(
    known: Conversation | None, command: c.StopTurn, asking: DecisionContext
) -> list[Draft]:
    """Stop a turn, also a queued one; keep the longer of the text given and the text saved."""
    turn = _require(known, command.thread_id).turn(command.turn_id)
    if turn is None:
        return []
    if asking.by.actor != ENGINE:
        _check_person(asking)
    text = max(command.text, turn.text, key=len)
    stopped = e.TurnStopped(command.thread_id, command.turn_id, turn.answer_id, text)
    return [Draft(stopped, (turn.position,))]


def truncate_answer(
    known: Conversation | None, command: c.TruncateAnswer, asking: DecisionContext
) -> list[Draft]:
    """Keep what was heard of an answer. One that has ended is retracted and recorded again.

    The new record derives from the retraction: taking that back gives the whole answer back.
    `asking.known` is the answer as it is recorded, if it has ended.
    """
    turn = _require(known, command.thread_id).turn(command.turn_id)
    if asking.by.actor != OWNER:
        raise Forbidden("only the user can have interrupted an answer", hint="Stop the turn.")
    if turn is not None:
        if turn.phase == WAITING:
            return []
        stopped = e.TurnStopped(
            command.thread_id, command.turn_id, turn.answer_id, command.heard[:TEXT_MAX]
        )
        return [Draft(stopped, (turn.position,))]
    ended: EndedAnswer | None = asking.known
    if ended is None or len(command.heard) >= len(ended.text):
        return []
    stopped = e.TurnStopped(command.thread_id, command.turn_id, ended.answer_id, command.heard)
    return [
        Draft(Retracted((ended.position,), INTERRUPTED)),
        Draft(stopped, (ended.turn_position,), beside=(0,)),
    ]


def fail_turn(known: Conversation | None, command: c.FailTurn, _: DecisionContext) -> list[Draft]:
    """End a turn as failed, and keep the text received so far."""
    turn = _require(known, command.thread_id).turn(command.turn_id)
    if turn is None:
        return []
    failed = e.TurnFailed(
        command.thread_id,
        command.turn_id,
        turn.answer_id,
        max(command.text, turn.text, key=len),
        command.reason[:300],
        command.hint,
    )
    return [Draft(failed, (turn.position,))]


def leave_uncertain(
    known: Conversation | None, command: c.LeaveUncertain, _: DecisionContext
) -> list[Draft]:
    """End a turn that was sent and whose outcome is unknown. A queued one is unchanged."""
    turn = _require(known, command.thread_id).turn(command.turn_id)
    if turn is None or turn.phase == WAITING:
        return []
    left = e.TurnLeftUncertain(command.thread_id, command.turn_id, turn.answer_id, turn.text)
    return [Draft(left, (turn.position,))]


# -- messages --------------------------------------------------------------------------------------


def hide_message(
    known: Conversation | None, command: c.HideMessage, asking: DecisionContext
) -> list[Draft]:
    """Hide a message."""
    _require(known, command.thread_id)
    hidden = e.MessageHidden(command.thread_id, command.message_id)
    return [Draft(hidden, (_position_of(asking, command.message_id),))]


def unhide_message(
    known: Conversation | None, command: c.UnhideMessage, asking: DecisionContext
) -> list[Draft]:
    """Show a hidden message again."""
    _require(known, command.thread_id)
    shown = e.MessageUnhidden(command.thread_id, command.message_id)
    return [Draft(shown, (_position_of(asking, command.message_id),))]


def begin_import(
    known: Conversation | None, command: c.BeginImport, _: DecisionContext
) -> list[Draft]:
    """Begin or resume an import into a thread. Idempotent."""
    thread = _require(known, command.thread_id)
    if command.import_id in thread.imports:
        return []
    begun = e.ImportBegun(command.thread_id, command.import_id, command.source, command.name)
    return _on_thread(thread, begun, *command.because)


def import_messages(
    known: Conversation | None, command: c.ImportMessages, asking: DecisionContext
) -> list[Draft]:
    """Import messages. `asking.known` has the ids of those that were imported before."""
    thread = _require(known, command.thread_id)
    begun = thread.imports.get(command.import_id)
    if begun is None:
        raise NotFound(f"no import {command.import_id!r}", hint="Begin the import first.")
    here: frozenset[str] = asking.known or frozenset()
    fresh = [one for one in command.messages if one.message_id not in here]
    for one in fresh:
        validate_imported_message(one)
    return [Draft(one, (begun.position,)) for one in fresh]


# -- notes and summaries ---------------------------------------------------------------------------


def open_topic(known: Conversation | None, command: c.OpenTopic, _: DecisionContext) -> list[Draft]:
    """Open a topic."""
    thread = _require(known, command.thread_id)
    if command.topic_id in thread.topics:
        return []
    opened = e.TopicOpened(command.thread_id, command.topic_id, _clean_title(command.title))
    return _on_thread(thread, opened, *command.because)


def note_topic(known: Conversation | None, command: c.NoteTopic, _: DecisionContext) -> list[Draft]:
    """Note the current state of a topic."""
    at = _require(known, command.thread_id).topics.get(command.topic_id)
    if at is None:
        raise NotFound(f"no open topic {command.topic_id!r}", hint="Open the topic first.")
    noted = e.TopicNoted(command.thread_id, command.topic_id, _note_text(command.note))
    return [Draft(noted, (at, *command.because))]


def close_topic(
    known: Conversation | None, command: c.CloseTopic, _: DecisionContext
) -> list[Draft]:
    """Close a topic."""
    at = _require(known, command.thread_id).topics.get(command.topic_id)
    if at is None:
        return []
    return [Draft(e.TopicClosed(command.thread_id, command.topic_id), (at,))]


def note_decision(
    known: Conversation | None, command: c.NoteDecision, _: DecisionContext
) -> list[Draft]:
    """Note a decision."""
    thread = _require(known, command.thread_id)
    noted = e.DecisionNoted(
        command.thread_id, command.decision_id, command.topic_id, _note_text(command.text)
    )
    return _on_thread(thread, noted, *command.because)


def note_intent(
    known: Conversation | None, command: c.NoteIntent, _: DecisionContext
) -> list[Draft]:
    """Note an intent."""
    thread = _require(known, command.thread_id)
    if command.intent_id in thread.intents:
        return []
    noted = e.IntentNoted(command.thread_id, command.intent_id, _note_text(command.text))
    return _on_thread(thread, noted, *command.because)


def settle_intent(
    known: Conversation | None, command: c.SettleIntent, _: DecisionContext
) -> list[Draft]:
    """Close an intent."""
    at = _require(known, command.thread_id).intents.get(command.intent_id)
    if at is None:
        return []
    return [Draft(e.IntentSettled(command.thread_id, command.intent_id), (at,))]


def mark_day(known: Conversation | None, command: c.MarkDay, _: DecisionContext) -> list[Draft]:
    """Mark a day as important, or remove the mark."""
    thread = _require(known, command.thread_id)
    try:
        day = date.fromisoformat(command.day).isoformat()
    except ValueError as problem:
        raise Invalid(f"{command.day!r} is not a date", hint="Write it like 2026-05-17.") from (
            problem
        )
    if (day in thread.important) == command.important:
        return []
    return _on_thread(thread, e.DayMarked(command.thread_id, day, command.important))


def note_summary(
    _: EmptyState | None, command: c.NoteSummary, asking: DecisionContext
) -> list[Draft]:
    """Record the summary of a window. It derives from its sources, so it has no own branch."""
    _check_engine(asking)
    noted = e.WindowSummarised(command.thread_id, command.window, command.item_id, command.upto)
    return [Draft(noted, command.because)]


def note_no_summary(
    _: EmptyState | None, command: c.NoteNoSummary, asking: DecisionContext
) -> list[Draft]:
    """Record that summarising a window failed, and why."""
    _check_engine(asking)
    failed = e.WindowFailed(command.thread_id, command.window, command.upto, command.reason[:300])
    return [Draft(failed, command.because)]


def set_instructions(
    known: InstructionsState | None, command: c.SetInstructions, asking: DecisionContext
) -> list[Event]:
    """Set the user's instructions. Only the user may: a model follows them in every prompt."""
    if asking.by.actor != OWNER:
        raise Forbidden(f"only the user may set instructions, not {asking.by.actor!r}")
    text = command.text.strip()
    if len(text) > INSTRUCTIONS_MAX:
        raise Invalid(
            f"instructions have at most {INSTRUCTIONS_MAX:,} characters", hint="Shorten them."
        )
    if text == (known.text if known is not None else ""):
        return []
    return [e.InstructionsSet(command.thread_id, text)]


def set_zone(
    known: TimeZoneState | None, command: c.SetZone, asking: DecisionContext
) -> list[Event]:
    """Set the person's time zone. The interface checks that the zone exists."""
    _check_person(asking)
    if known is not None and known.zone == command.zone:
        return []
    return [e.ZoneSet(command.zone)]


# -- inside ----------------------------------------------------------------------------------------


def _turn(command: c.SendMessage | c.RecordTurn) -> e.TurnRecorded:
    """The request for an answer, if what it asks for is possible."""
    wanted = command.options
    if wanted.temperature is not None and not 0 <= wanted.temperature <= TEMPERATURE_MAX:
        raise Invalid(f"a temperature is between 0 and {TEMPERATURE_MAX}", hint="Try 0.7.")
    if wanted.tokens_max < 0 or len(wanted.model) > TITLE_MAX:
        raise Invalid("the answer cannot be given like that", hint="Use the defaults.")
    return e.TurnRecorded(command.thread_id, command.turn_id, command.message_id, wanted)


def _require(known: Conversation | None, thread_id: str) -> Conversation:
    if known is None:
        raise NotFound(f"no thread {thread_id!r}", hint="`everloop threads` lists them.")
    return known


def _on_thread(thread: Conversation, happened: Event, *because: int) -> list[Draft]:
    """An event about a thread, derived from the event that opened the thread."""
    return [Draft(happened, (thread.position, *because))]


def _position_of(asking: DecisionContext, message_id: str) -> int:
    if not asking.known:
        raise NotFound(
            f"no message {message_id!r}", hint="It was deleted, or is on another branch."
        )
    return int(asking.known)


def _check_person(asking: DecisionContext) -> None:
    if asking.by.actor != OWNER and not asking.by.actor.startswith("agent:"):
        raise Forbidden(f"only the user and agents may send messages, not {asking.by.actor!r}")


def _check_engine(asking: DecisionContext) -> None:
    if asking.by.actor != ENGINE:
        raise Forbidden(f"only Everloop itself may record summaries, not {asking.by.actor!r}")


def _check_queue(thread: Conversation) -> None:
    if len(thread.turns) >= QUEUE_MAX:
        raise Conflict(
            f"{len(thread.turns)} messages are waiting for an answer already",
            hint="Wait for an answer, or cancel one.",
        )


def _clean_title(title: str) -> str:
    plain = " ".join(title.split())
    if not plain or len(plain) > TITLE_MAX:
        raise Invalid(
            f"a title has 1 to {TITLE_MAX} characters", hint="Choose a title of that length."
        )
    return plain


def _note_text(text: str) -> str:
    if not text.strip():
        raise Invalid("the note is empty", hint="Say it in at least one word.")
    return text.strip()
