"""Decisions about conversations: pure, from what is open in one and who asks.

`asking.known` is the position of the message that a command names, where one is needed.
"""

from datetime import date

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.log import Asking, Draft, Event
from everloop.memory.model.scopes import OWNER
from everloop.thread.model import commands as c
from everloop.thread.model import events as e
from everloop.thread.model.decide_imports import check_imported
from everloop.thread.model.state import SENDING, WAITING, Conversation, Nothing, Place

ENGINE = "engine"
TITLE_MAX = 200
TEXT_MAX = 1_000_000
QUEUE_MAX = 20


# -- threads ---------------------------------------------------------------------------------------


def open_thread(known: Conversation | None, command: c.OpenThread, _: Asking) -> list[Draft]:
    """Begin one. Asking twice is harmless."""
    if known is not None:
        return []
    opened = e.ThreadOpened(command.thread_id, _title(command.title))
    return [Draft(opened, command.because)]


def rename_thread(known: Conversation | None, command: c.RenameThread, _: Asking) -> list[Draft]:
    """Give it another title."""
    thread, title = _open(known, command.thread_id), _title(command.title)
    return [] if thread.title == title else _on(thread, e.ThreadRenamed(command.thread_id, title))


def archive_thread(known: Conversation | None, command: c.ArchiveThread, _: Asking) -> list[Draft]:
    """Put it away. The home thread stays."""
    thread = _open(known, command.thread_id)
    if command.thread_id == c.HOME:
        raise Invalid("the home thread cannot be put away", hint="Archive a named thread.")
    return [] if thread.archived else _on(thread, e.ThreadArchived(command.thread_id))


def restore_thread(known: Conversation | None, command: c.RestoreThread, _: Asking) -> list[Draft]:
    """Take it out again."""
    thread = _open(known, command.thread_id)
    return _on(thread, e.ThreadRestored(command.thread_id)) if thread.archived else []


# -- turns -----------------------------------------------------------------------------------------


def send_message(known: Conversation | None, command: c.SendMessage, asking: Asking) -> list[Draft]:
    """Take a message in and, if one is wanted, a turn that answers it."""
    thread = _open(known, command.thread_id)
    _check_person(asking)
    if asking.known:
        raise Conflict(f"there is a message {command.message_id!r} already", hint="Use a new id.")
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
    turn = e.TurnRecorded(command.thread_id, command.turn_id, command.message_id)
    return [said, Draft(turn, beside=(0,))]


def record_turn(known: Conversation | None, command: c.RecordTurn, asking: Asking) -> list[Draft]:
    """Want an answer to a message that is there."""
    thread = _open(known, command.thread_id)
    _check_person(asking)
    if thread.turn(command.turn_id):
        return []
    _check_queue(thread)
    turn = e.TurnRecorded(command.thread_id, command.turn_id, command.message_id)
    return [Draft(turn, (_found(asking, command.message_id),))]


def begin_sending(known: Conversation | None, command: c.BeginSending, _: Asking) -> list[Draft]:
    """Take the turn that is next. If it is taken, or others come first, nothing happens."""
    first = _open(known, command.thread_id).next_turn
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
    known: Conversation | None, command: c.BeginStreaming, _: Asking
) -> list[Draft]:
    """Note that words come."""
    turn = _open(known, command.thread_id).turn(command.turn_id)
    if turn is None or turn.phase != SENDING:
        return []
    return [Draft(e.TurnStreaming(command.thread_id, command.turn_id), (turn.since,))]


def save_answer(known: Conversation | None, command: c.SaveAnswer, _: Asking) -> list[Draft]:
    """Keep what came. What comes after the end of a turn is not taken in."""
    turn = _open(known, command.thread_id).turn(command.turn_id)
    if turn is None:
        return []
    saved = e.AnswerSaved(command.thread_id, command.turn_id, command.text)
    return [Draft(saved, (turn.position,))]


def record_tool_use(known: Conversation | None, command: c.RecordToolUse, _: Asking) -> list[Draft]:
    """Keep what a tool was asked and gave."""
    turn = _open(known, command.thread_id).turn(command.turn_id)
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


def give_answer(known: Conversation | None, command: c.GiveAnswer, _: Asking) -> list[Draft]:
    """End a turn well. One that has ended stays as it is: stopped is stopped."""
    turn = _open(known, command.thread_id).turn(command.turn_id)
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


def stop_turn(known: Conversation | None, command: c.StopTurn, asking: Asking) -> list[Draft]:
    """End a turn, also one that waits, and keep the longer of what came and what was saved."""
    turn = _open(known, command.thread_id).turn(command.turn_id)
    if turn is None:
        return []
    if asking.by.actor != ENGINE:
        _check_person(asking)
    text = max(command.text, turn.text, key=len)
    stopped = e.TurnStopped(command.thread_id, command.turn_id, turn.answer_id, text)
    return [Draft(stopped, (turn.position,))]


def fail_turn(known: Conversation | None, command: c.FailTurn, _: Asking) -> list[Draft]:
    """End a turn badly, and keep what came."""
    turn = _open(known, command.thread_id).turn(command.turn_id)
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
    known: Conversation | None, command: c.LeaveUncertain, _: Asking
) -> list[Draft]:
    """End a turn that was sent and of which nothing more is known. One that waits goes on."""
    turn = _open(known, command.thread_id).turn(command.turn_id)
    if turn is None or turn.phase == WAITING:
        return []
    left = e.TurnLeftUncertain(command.thread_id, command.turn_id, turn.answer_id, turn.text)
    return [Draft(left, (turn.position,))]


# -- messages --------------------------------------------------------------------------------------


def hide_message(known: Conversation | None, command: c.HideMessage, asking: Asking) -> list[Draft]:
    """Fold it away."""
    _open(known, command.thread_id)
    hidden = e.MessageHidden(command.thread_id, command.message_id)
    return [Draft(hidden, (_found(asking, command.message_id),))]


def unhide_message(
    known: Conversation | None, command: c.UnhideMessage, asking: Asking
) -> list[Draft]:
    """Show it again."""
    _open(known, command.thread_id)
    shown = e.MessageUnhidden(command.thread_id, command.message_id)
    return [Draft(shown, (_found(asking, command.message_id),))]


def begin_import(known: Conversation | None, command: c.BeginImport, _: Asking) -> list[Draft]:
    """Begin it, or go on with it: the same import is one."""
    thread = _open(known, command.thread_id)
    if command.import_id in thread.imports:
        return []
    begun = e.ImportBegun(command.thread_id, command.import_id, command.source, command.name)
    return _on(thread, begun, *command.because)


def import_messages(
    known: Conversation | None, command: c.ImportMessages, asking: Asking
) -> list[Draft]:
    """Take messages in. `asking.known` names those that are in already."""
    thread = _open(known, command.thread_id)
    begun = thread.imports.get(command.import_id)
    if begun is None:
        raise NotFound(f"no import {command.import_id!r}", hint="Begin it first.")
    here: frozenset[str] = asking.known or frozenset()
    fresh = [one for one in command.messages if one.message_id not in here]
    for one in fresh:
        check_imported(one)
    return [Draft(one, (begun.position,)) for one in fresh]


# -- what is kept in mind --------------------------------------------------------------------------


def open_topic(known: Conversation | None, command: c.OpenTopic, _: Asking) -> list[Draft]:
    """Begin a topic."""
    thread = _open(known, command.thread_id)
    if command.topic_id in thread.topics:
        return []
    opened = e.TopicOpened(command.thread_id, command.topic_id, _title(command.title))
    return _on(thread, opened, *command.because)


def note_topic(known: Conversation | None, command: c.NoteTopic, _: Asking) -> list[Draft]:
    """Say where it stands."""
    at = _open(known, command.thread_id).topics.get(command.topic_id)
    if at is None:
        raise NotFound(f"no open topic {command.topic_id!r}", hint="Open it first.")
    noted = e.TopicNoted(command.thread_id, command.topic_id, _words(command.note))
    return [Draft(noted, (at, *command.because))]


def close_topic(known: Conversation | None, command: c.CloseTopic, _: Asking) -> list[Draft]:
    """Settle it."""
    at = _open(known, command.thread_id).topics.get(command.topic_id)
    if at is None:
        return []
    return [Draft(e.TopicClosed(command.thread_id, command.topic_id), (at,))]


def note_decision(known: Conversation | None, command: c.NoteDecision, _: Asking) -> list[Draft]:
    """Keep what was decided."""
    thread = _open(known, command.thread_id)
    noted = e.DecisionNoted(
        command.thread_id, command.decision_id, command.topic_id, _words(command.text)
    )
    return _on(thread, noted, *command.because)


def note_intent(known: Conversation | None, command: c.NoteIntent, _: Asking) -> list[Draft]:
    """Keep what is to be done."""
    thread = _open(known, command.thread_id)
    if command.intent_id in thread.intents:
        return []
    noted = e.IntentNoted(command.thread_id, command.intent_id, _words(command.text))
    return _on(thread, noted, *command.because)


def settle_intent(known: Conversation | None, command: c.SettleIntent, _: Asking) -> list[Draft]:
    """Say that it is done."""
    at = _open(known, command.thread_id).intents.get(command.intent_id)
    if at is None:
        return []
    return [Draft(e.IntentSettled(command.thread_id, command.intent_id), (at,))]


def mark_day(known: Conversation | None, command: c.MarkDay, _: Asking) -> list[Draft]:
    """Say whether a day matters."""
    thread = _open(known, command.thread_id)
    try:
        day = date.fromisoformat(command.day).isoformat()
    except ValueError as problem:
        raise Invalid(f"{command.day!r} is no day", hint="Use a form such as 2026-05-17.") from (
            problem
        )
    if (day in thread.important) == command.important:
        return []
    return _on(thread, e.DayMarked(command.thread_id, day, command.important))


def note_summary(_: Nothing | None, command: c.NoteSummary, asking: Asking) -> list[Draft]:
    """Keep which item it is. It stands on what it was made from, and so on no branch of its own."""
    _check_engine(asking)
    noted = e.WindowSummarised(command.thread_id, command.window, command.item_id, command.upto)
    return [Draft(noted, command.because)]


def note_no_summary(_: Nothing | None, command: c.NoteNoSummary, asking: Asking) -> list[Draft]:
    """Keep that there is none, and why."""
    _check_engine(asking)
    failed = e.WindowFailed(command.thread_id, command.window, command.upto, command.reason[:300])
    return [Draft(failed, command.because)]


def set_zone(known: Place | None, command: c.SetZone, asking: Asking) -> list[Event]:
    """Say where the person is. That the zone exists is for the door to check."""
    _check_person(asking)
    if known is not None and known.zone == command.zone:
        return []
    return [e.ZoneSet(command.zone)]


def record_model_call(_: Nothing | None, command: c.RecordModelCall, asking: Asking) -> list[Draft]:
    """Keep what a call took."""
    del asking
    called = e.ModelCalled(
        command.purpose,
        command.model,
        command.tokens_in,
        command.tokens_out,
        command.cost_usd,
        command.duration_s,
        command.turn_id,
    )
    return [Draft(called, command.because)]


# -- inside ----------------------------------------------------------------------------------------


def _open(known: Conversation | None, thread_id: str) -> Conversation:
    if known is None:
        raise NotFound(f"no thread {thread_id!r}", hint="`everloop threads` lists them.")
    return known


def _on(thread: Conversation, happened: Event, *because: int) -> list[Draft]:
    """A fact about a thread stands on the thread."""
    return [Draft(happened, (thread.position, *because))]


def _found(asking: Asking, message_id: str) -> int:
    if not asking.known:
        raise NotFound(f"no message {message_id!r} here", hint="It may be on another branch.")
    return int(asking.known)


def _check_person(asking: Asking) -> None:
    if asking.by.actor != OWNER and not asking.by.actor.startswith("agent:"):
        raise Forbidden(f"{asking.by.actor} cannot speak in a conversation")


def _check_engine(asking: Asking) -> None:
    if asking.by.actor != ENGINE:
        raise Forbidden(f"{asking.by.actor} cannot say what the past was put into")


def _check_queue(thread: Conversation) -> None:
    if len(thread.turns) >= QUEUE_MAX:
        raise Conflict(
            f"{len(thread.turns)} messages wait for an answer already",
            hint="Wait for one, or stop one.",
        )


def _title(title: str) -> str:
    plain = " ".join(title.split())
    if not plain or len(plain) > TITLE_MAX:
        raise Invalid(f"a title has 1 to {TITLE_MAX} characters", hint="Choose a shorter one.")
    return plain


def _words(text: str) -> str:
    if not text.strip():
        raise Invalid("there is nothing to note", hint="Say it in at least one word.")
    return text.strip()
