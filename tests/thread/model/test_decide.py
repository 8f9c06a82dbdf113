"""Decisions about conversations: what each command leads to, from what is open and who asks."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from everloop.errors import Conflict, Corrupt, EverloopError, Forbidden, Invalid, NotFound
from everloop.log import Command, Context, DecisionContext, Draft, Event
from everloop.log.model.facts import Retracted
from everloop.testing.deterministic import NEW_YEAR, Given, given
from everloop.thread.deciders import THREAD_DECIDERS
from everloop.thread.model import commands as c
from everloop.thread.model import decide as d
from everloop.thread.model import events as e
from everloop.thread.model.decide_imports import IMPORTS
from everloop.thread.model.state import CONVERSATION, TIME_ZONE, Conversation, EndedAnswer
from everloop.turns.settings import AS_CONFIGURED

Decide = Callable[[Any, Any, DecisionContext], Sequence[Event | Draft]]

OPENED = e.ThreadOpened("t", "Garden")
SENT = e.MessageSent("t", "m", "Hi.", (), "")
RECORDED = e.TurnRecorded("t", "n", "m", AS_CONFIGURED)
SENDING = e.TurnSending("t", "n", "a", "model", "ctx", "c1")
STREAMING = e.TurnStreaming("t", "n")
SAVED = e.AnswerSaved("t", "n", "So far")
WAITS = (OPENED, SENT, RECORDED)
SENT_OUT = (*WAITS, SENDING)
STREAMS = (*SENT_OUT, STREAMING, SAVED)


def after(*events: Event) -> Given[Conversation]:
    return given(CONVERSATION, *events)


def decided(
    state: object, decide: Decide, command: Command, known: object = None, actor: str = "user"
) -> list[Draft]:
    """What a decision leads to, with what the views know."""
    happened = decide(state, command, DecisionContext(Context(actor=actor), NEW_YEAR, known))
    return [one if isinstance(one, Draft) else Draft(one) for one in happened]


def test_every_command_has_one_decider() -> None:
    named = {
        value
        for value in vars(c).values()
        if isinstance(value, type) and issubclass(value, Command) and value is not Command
    }
    decided_ = [decider.command for decider in THREAD_DECIDERS]
    assert set(decided_) == named
    assert len(decided_) == len(named)


def test_a_thread_is_opened_once() -> None:
    assert after().when(d.open_thread, c.OpenThread("t", " The  garden ")) == [
        e.ThreadOpened("t", "The garden")
    ]
    assert after(OPENED).when(d.open_thread, c.OpenThread("t", "Else")) == []


@pytest.mark.parametrize("title", ["", "  ", "x" * 201])
def test_a_thread_without_a_proper_title_is_refused_with_a_hint(title: str) -> None:
    with pytest.raises(Invalid) as refused:
        after().when(d.open_thread, c.OpenThread("t", title))
    assert refused.value.hint


def test_renaming_archiving_and_restoring_a_thread_is_idempotent() -> None:
    renamed, away = e.ThreadRenamed("t", "Beds"), e.ThreadArchived("t")
    assert after(OPENED).when(d.rename_thread, c.RenameThread("t", "Beds")) == [renamed]
    assert after(OPENED, renamed).when(d.rename_thread, c.RenameThread("t", "Beds")) == []
    assert after(OPENED).when(d.archive_thread, c.ArchiveThread("t")) == [away]
    assert after(OPENED, away).when(d.archive_thread, c.ArchiveThread("t")) == []
    restored = e.ThreadRestored("t")
    assert after(OPENED, away).when(d.restore_thread, c.RestoreThread("t")) == [restored]
    assert after(OPENED, away, restored).when(d.restore_thread, c.RestoreThread("t")) == []


def test_pinning_and_unpinning_a_thread_is_idempotent() -> None:
    pinned, loose = e.ThreadPinned("t"), e.ThreadUnpinned("t")
    assert after(OPENED).when(d.pin_thread, c.PinThread("t")) == [pinned]
    assert after(OPENED, pinned).when(d.pin_thread, c.PinThread("t")) == []
    assert after(OPENED, pinned).when(d.unpin_thread, c.UnpinThread("t")) == [loose]
    assert after(OPENED, pinned, loose).when(d.unpin_thread, c.UnpinThread("t")) == []


def test_the_home_thread_cannot_be_archived() -> None:
    with pytest.raises(Invalid):
        after(OPENED).when(d.archive_thread, c.ArchiveThread(c.HOME))


def test_a_message_is_recorded_together_with_the_turn_derived_from_it() -> None:
    drafts = decided(after(OPENED).state, d.send_message, c.SendMessage("t", "m", "Hi.", "n"))
    assert [draft.event for draft in drafts] == [SENT, RECORDED]
    assert (drafts[0].because, drafts[1].beside) == ((1,), (0,))


def test_a_message_without_a_turn_id_requests_no_answer() -> None:
    assert after(OPENED).when(d.send_message, c.SendMessage("t", "m", "Hi.")) == [SENT]


@pytest.mark.parametrize("text", ["", " \n", "x" * (d.TEXT_MAX + 1)], ids=["no", "blank", "long"])
def test_an_empty_or_too_long_message_is_rejected_with_a_hint(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        after(OPENED).when(d.send_message, c.SendMessage("t", "m", text, "n"))
    assert refused.value.hint


def test_a_message_with_only_an_image_is_accepted() -> None:
    picture = e.Attachment("d", "cat.png", "image/png", 3)
    said = after(OPENED).when(d.send_message, c.SendMessage("t", "m", "", "n", (picture,)))
    assert said[0] == e.MessageSent("t", "m", "", (picture,), "")


def test_a_message_id_is_used_once() -> None:
    with pytest.raises(Conflict):
        decided(after(OPENED).state, d.send_message, c.SendMessage("t", "m", "Hi."), known=7)


@pytest.mark.parametrize("actor", ["worker:1", "engine", "pack:x"])
def test_only_the_user_and_agents_can_send_messages(actor: str) -> None:
    with pytest.raises(Forbidden):
        after(OPENED).when(d.send_message, c.SendMessage("t", "m", "Hi.", "n"), actor=actor)


def test_the_queue_of_turns_is_limited() -> None:
    waiting = [
        e.TurnRecorded("t", f"n{number}", "m", AS_CONFIGURED) for number in range(d.QUEUE_MAX)
    ]
    with pytest.raises(Conflict) as refused:
        after(OPENED, *waiting).when(d.send_message, c.SendMessage("t", "x", "Hi.", "n"))
    assert refused.value.hint


def test_an_answer_can_only_be_requested_to_an_existing_message() -> None:
    wish = c.RecordTurn("t", "n", "m")
    (draft,) = decided(after(OPENED, SENT).state, d.record_turn, wish, known=2)
    assert (draft.event, draft.because) == (RECORDED, (2,))
    assert decided(after(*WAITS).state, d.record_turn, wish, known=2) == []
    with pytest.raises(NotFound):
        decided(after(OPENED).state, d.record_turn, wish, known=0)


def test_the_first_queued_turn_is_claimed_once() -> None:
    take = c.BeginSending("t", "n", "a", "model", "ctx", "c1", (9,))
    (draft,) = decided(after(*WAITS).state, d.begin_sending, take)
    assert (draft.event, draft.because) == (SENDING, (3, 9))
    assert after(*SENT_OUT).when(d.begin_sending, take) == []
    behind = (*SENT_OUT, e.TurnRecorded("t", "n2", "m2", AS_CONFIGURED))
    later = msgspec.structs.replace(take, turn_id="n2")
    assert after(*behind).when(d.begin_sending, later) == []


def test_streaming_begins_once() -> None:
    assert after(*SENT_OUT).when(d.begin_streaming, c.BeginStreaming("t", "n")) == [STREAMING]
    assert after(*STREAMS).when(d.begin_streaming, c.BeginStreaming("t", "n")) == []
    assert after(*WAITS).when(d.begin_streaming, c.BeginStreaming("t", "n")) == []


def test_text_is_saved_while_the_turn_is_open() -> None:
    assert after(*SENT_OUT).when(d.save_answer, c.SaveAnswer("t", "n", "So far")) == [SAVED]
    used = e.ToolUsed("t", "n", "c", "recall", "{}", "Nothing.", False)
    use = c.RecordToolUse("t", "n", "c", "recall", "{}", "Nothing.")
    assert after(*SENT_OUT).when(d.record_tool_use, use) == [used]


GIVEN = e.AnswerGiven("t", "n", "a", "So far and on.", "model", "stop")
ENDS: dict[str, tuple[Decide, Command, Event]] = {
    "given": (d.give_answer, c.GiveAnswer("t", "n", "So far and on.", "model"), GIVEN),
    "stopped": (d.stop_turn, c.StopTurn("t", "n"), e.TurnStopped("t", "n", "a", "So far")),
    "failed": (
        d.fail_turn,
        c.FailTurn("t", "n", "", "r" * 400, "h"),
        e.TurnFailed("t", "n", "a", "So far", "r" * 300, "h"),
    ),
    "uncertain": (
        d.leave_uncertain,
        c.LeaveUncertain("t", "n"),
        e.TurnLeftUncertain("t", "n", "a", "So far"),
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_turn_ends_once_with_the_text_so_far(end: str) -> None:
    decide, command, ended = ENDS[end]
    assert after(*STREAMS).when(decide, command) == [ended]
    for other in ENDS:
        again, command, _ = ENDS[other]
        assert after(*STREAMS, ended).when(again, command) == []


@pytest.mark.parametrize("late", [c.SaveAnswer("t", "n", "x"), c.BeginStreaming("t", "n")])
def test_text_after_the_end_of_a_turn_is_ignored(late: Command) -> None:
    decide = {decider.command: decider.decide for decider in THREAD_DECIDERS}
    assert after(*STREAMS, GIVEN).when(decide[type(late)], late) == []


def test_a_queued_turn_can_be_stopped_but_not_answered_or_left_uncertain() -> None:
    assert after(*WAITS).when(d.stop_turn, c.StopTurn("t", "n")) == [
        e.TurnStopped("t", "n", "", "")
    ]
    assert after(*WAITS).when(d.give_answer, c.GiveAnswer("t", "n", "x", "m")) == []
    assert after(*WAITS).when(d.leave_uncertain, c.LeaveUncertain("t", "n")) == []


def test_an_interrupted_answer_that_streams_ends_with_what_was_heard() -> None:
    heard = c.TruncateAnswer("t", "n", "So")
    assert after(*STREAMS).when(d.truncate_answer, heard) == [e.TurnStopped("t", "n", "a", "So")]
    assert after(*WAITS).when(d.truncate_answer, heard) == []


def test_an_interrupted_answer_that_is_complete_is_retracted_and_replaced_by_what_was_heard() -> (
    None
):
    state = after(*STREAMS, GIVEN).state
    ended = EndedAnswer("a", 7, 3, "So far and on.")
    retracted, kept = decided(state, d.truncate_answer, c.TruncateAnswer("t", "n", "So far"), ended)
    assert isinstance(retracted.event, Retracted)
    assert retracted.event.positions == (7,)
    assert kept == Draft(e.TurnStopped("t", "n", "a", "So far"), (3,), beside=(0,))


def test_an_answer_is_only_ever_shortened_and_only_by_the_user() -> None:
    state = after(*STREAMS, GIVEN).state
    whole = c.TruncateAnswer("t", "n", "So far and on.")
    ended = EndedAnswer("a", 7, 3, "So far and on.")
    assert decided(state, d.truncate_answer, whole, ended) == []
    assert decided(state, d.truncate_answer, whole, None) == []
    with pytest.raises(Forbidden):
        decided(state, d.truncate_answer, whole, ended, actor="agent:codex")


def test_a_stopped_turn_keeps_the_longer_of_given_and_saved_text() -> None:
    stop = c.StopTurn("t", "n", "So far and more")
    assert after(*STREAMS).when(d.stop_turn, stop, actor="engine") == [
        e.TurnStopped("t", "n", "a", "So far and more")
    ]


def test_the_next_turn_may_be_sent_when_the_first_has_ended() -> None:
    second = e.TurnRecorded("t", "n2", "m2", AS_CONFIGURED)
    before, known = (after(*STREAMS, second, *end).state for end in ((), (GIVEN,)))
    assert before is not None
    assert before.next_turn is None
    assert known is not None
    assert known.next_turn == known.turn("n2")


def test_a_message_can_be_hidden_and_shown_again() -> None:
    state = after(OPENED, SENT).state
    (away,) = decided(state, d.hide_message, c.HideMessage("t", "m"), known=2)
    (back,) = decided(state, d.unhide_message, c.UnhideMessage("t", "m"), known=2)
    assert (away.event, away.because) == (e.MessageHidden("t", "m"), (2,))
    assert back.event == e.MessageUnhidden("t", "m")
    with pytest.raises(NotFound):
        decided(state, d.hide_message, c.HideMessage("t", "x"), known=0)


def test_each_topic_note_derives_from_the_opening_and_not_from_earlier_notes() -> None:
    opened, noted = e.TopicOpened("t", "p", "Bread"), e.TopicNoted("t", "p", "Rises.")
    assert after(OPENED).when(d.open_topic, c.OpenTopic("t", "p", "Bread")) == [opened]
    assert after(OPENED, opened).when(d.open_topic, c.OpenTopic("t", "p", "Bread")) == []
    state = after(OPENED, opened, noted).state
    (draft,) = decided(state, d.note_topic, c.NoteTopic("t", "p", "Baked.", (9,)))
    assert draft.because == (2, 9)
    (closed,) = decided(state, d.close_topic, c.CloseTopic("t", "p"))
    assert (closed.event, closed.because) == (e.TopicClosed("t", "p"), (2,))
    shut = after(OPENED, opened, e.TopicClosed("t", "p"))
    assert shut.when(d.close_topic, c.CloseTopic("t", "p")) == []
    with pytest.raises(NotFound):
        shut.when(d.note_topic, c.NoteTopic("t", "p", "Late."))


def test_decisions_and_intents_are_noted_and_intents_settled_once() -> None:
    decision = e.DecisionNoted("t", "d1", "", "We move.")
    assert after(OPENED).when(d.note_decision, c.NoteDecision("t", "d1", " We move. ")) == [
        decision
    ]
    intent = e.IntentNoted("t", "i", "Call.")
    assert after(OPENED).when(d.note_intent, c.NoteIntent("t", "i", "Call.")) == [intent]
    assert after(OPENED, intent).when(d.note_intent, c.NoteIntent("t", "i", "Call.")) == []
    settled = e.IntentSettled("t", "i")
    assert after(OPENED, intent).when(d.settle_intent, c.SettleIntent("t", "i")) == [settled]
    assert after(OPENED, intent, settled).when(d.settle_intent, c.SettleIntent("t", "i")) == []
    with pytest.raises(Invalid):
        after(OPENED).when(d.note_intent, c.NoteIntent("t", "i", " "))


def test_a_day_is_marked_once_and_an_invalid_date_is_rejected() -> None:
    marked = e.DayMarked("t", "2026-05-17", True)
    assert after(OPENED).when(d.mark_day, c.MarkDay("t", "2026-05-17")) == [marked]
    assert after(OPENED, marked).when(d.mark_day, c.MarkDay("t", "2026-05-17")) == []
    unmark = c.MarkDay("t", "2026-05-17", important=False)
    assert after(OPENED, marked).when(d.mark_day, unmark) == [e.DayMarked("t", "2026-05-17", False)]
    with pytest.raises(Invalid) as refused:
        after(OPENED).when(d.mark_day, c.MarkDay("t", "soon"))
    assert refused.value.hint


def test_only_the_engine_can_record_summaries() -> None:
    note = c.NoteSummary("t", "day:2026-05-17", "item", 7, (5, 7))
    (draft,) = decided(None, d.note_summary, note, actor="engine")
    assert draft == Draft(e.WindowSummarised("t", "day:2026-05-17", "item", 7), (5, 7))
    failed = c.NoteNoSummary("t", "day:2026-05-17", 7, "r" * 400, (7,))
    (draft,) = decided(None, d.note_no_summary, failed, actor="engine")
    assert draft == Draft(e.WindowFailed("t", "day:2026-05-17", 7, "r" * 300), (7,))
    for decide, command in ((d.note_summary, note), (d.note_no_summary, failed)):
        with pytest.raises(Forbidden):
            decided(None, decide, command)


def test_a_zone_is_set_by_a_person_and_setting_it_again_changes_nothing() -> None:
    berlin = e.ZoneSet("Europe/Berlin")
    assert given(TIME_ZONE).when(d.set_zone, c.SetZone("Europe/Berlin")) == [berlin]
    assert given(TIME_ZONE, berlin).when(d.set_zone, c.SetZone("Europe/Berlin")) == []
    with pytest.raises(Forbidden):
        given(TIME_ZONE).when(d.set_zone, c.SetZone("Europe/Berlin"), actor="worker:1")


@pytest.mark.parametrize(
    "decider",
    [
        one
        for one in THREAD_DECIDERS
        if one.fold is CONVERSATION and one.command is not c.OpenThread
    ],
    ids=lambda one: one.command.__name__,
)
def test_every_command_on_a_missing_thread_is_rejected(decider: Any) -> None:
    fields = {"day": "2026-05-17", "important": True, "messages": (), "failed": False}
    names = [field for field in msgspec.structs.fields(decider.command) if field.required]
    command = decider.command(**{one.name: fields.get(one.name, "x") for one in names})
    with pytest.raises(NotFound) as refused:
        decided(None, decider.decide, command, actor="user")
    assert refused.value.hint


@pytest.mark.parametrize("fold", [CONVERSATION, TIME_ZONE, IMPORTS], ids=lambda fold: fold.name)
def test_a_log_that_begins_in_the_middle_is_corrupt(fold: Any) -> None:
    with pytest.raises(EverloopError) as refused:
        given(fold, SENT)
    assert isinstance(refused.value, Corrupt)
