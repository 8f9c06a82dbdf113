"""Decisions about messages, witnesses, replies and their versions."""

import pytest
from tests.worlds.model.situations import (
    ASKED,
    CHOSEN,
    PLAYING,
    RENDERED,
    REPLIED,
    SAID,
    SENT,
    after,
)

from everloop.errors import Conflict, Invalid, NotFound
from everloop.log import Context, DecisionContext, Draft, Event
from everloop.testing.deterministic import NEW_YEAR
from everloop.worlds.model import commands as c
from everloop.worlds.model import decide_messages as d
from everloop.worlds.model import events as e
from everloop.worlds.model.state import World
from everloop.worlds.model.values import Passage

KNOWN = DecisionContext(Context(), NEW_YEAR, 7)


def state(*events: Event) -> World:
    found = after(*events).state
    assert found
    return found


def test_everyone_present_witnesses_a_message() -> None:
    command = c.WriteMessage("w", "m1", "you", " Hello. ", addressee="ada")
    assert after(*PLAYING).when(d.write_message, command) == [SAID]


def test_a_whisper_is_witnessed_by_whom_it_names_and_the_speaker() -> None:
    there = e.PresenceChanged("w", "s1", ("you", "ada", "ben"))
    command = c.WriteMessage("w", "m1", "you", "Psst.", witnesses=("ben",))
    (written,) = after(*PLAYING, there).when(d.write_message, command)
    assert isinstance(written, e.MessageWritten)
    assert written.witnesses == ("you", "ben")


def test_nobody_speaks_who_is_not_there_or_while_another_speaks() -> None:
    with pytest.raises(Conflict, match="Ben is not in this scene"):
        after(*PLAYING).when(d.write_message, c.WriteMessage("w", "m1", "ben", "Hi."))
    with pytest.raises(Conflict, match="still speaking"):
        after(*PLAYING, ASKED).when(d.write_message, c.WriteMessage("w", "m3", "you", "Hi."))
    with pytest.raises(Conflict, match="Ben is not"):
        after(*PLAYING).when(d.record_turn, c.RecordTurn("w", "t1", "m2", "ben"))
    with pytest.raises(Invalid, match="empty"):
        after(*PLAYING).when(d.write_message, c.WriteMessage("w", "m1", "you", " "))


def test_a_turn_is_recorded_before_anything_is_sent() -> None:
    command = c.RecordTurn("w", "t1", "m2", "ada")
    assert after(*PLAYING, SAID).when(d.record_turn, command) == [ASKED]
    assert after(*PLAYING, SAID, ASKED).when(d.record_turn, command) == []
    with pytest.raises(Conflict, match="Ada is still speaking"):
        after(*PLAYING, SAID, ASKED).when(d.record_turn, c.RecordTurn("w", "t2", "m3", "ada"))


def test_of_two_processes_one_sends_a_turn() -> None:
    command = c.BeginSending("w", "t1", "v1", "model", "ctx", "process")
    assert after(*PLAYING, SAID, ASKED).when(d.begin_sending, command) == [SENT]
    assert after(*PLAYING, SAID, ASKED, SENT).when(d.begin_sending, command) == []


def test_a_reply_becomes_a_version_that_is_chosen() -> None:
    happened = d.finish_turn(
        state(*PLAYING, SAID, ASKED, SENT), c.FinishTurn("w", "t1", "Hi!", "model"), KNOWN
    )
    assert [each.event for each in happened] == [RENDERED, CHOSEN]
    assert happened[1].beside == (0,)  # what follows from the choice goes when it is retracted


def test_an_empty_reply_fails_the_turn() -> None:
    assert after(*PLAYING, ASKED, SENT).when(
        d.finish_turn, c.FinishTurn("w", "t1", " ", "model")
    ) == [e.TurnFailed("w", "t1", "the reply was empty", "Try again.")]


def test_a_turn_of_a_dead_process_keeps_what_had_arrived() -> None:
    nothing = after(*PLAYING, ASKED, SENT)
    assert nothing.when(d.leave_uncertain, c.LeaveUncertain("w", "t1")) == [
        e.TurnLeftUncertain("w", "t1")
    ]
    saved = (e.TurnStreaming("w", "t1"), e.ReplySaved("w", "t1", "Well, "))
    some = after(*PLAYING, ASKED, SENT, *saved)
    version, choice = some.when(d.leave_uncertain, c.LeaveUncertain("w", "t1"))
    assert isinstance(version, e.VersionRendered)
    assert (version.text, version.finish) == ("Well, ", "uncertain")
    assert choice == e.VersionChosen("w", "m2", "v1")


def test_another_version_is_rendered_of_the_newest_message_only() -> None:
    again = c.RecordTurn("w", "t2", "m2", "ada")
    assert after(*REPLIED).when(d.record_turn, again) == [
        e.TurnRecorded("w", "t2", "m2", "ada", "")
    ]
    with pytest.raises(Conflict, match="written, not rendered"):
        after(*PLAYING, SAID).when(d.record_turn, c.RecordTurn("w", "t2", "m1", "ada"))
    with pytest.raises(Conflict, match="Ada said that"):
        after(*REPLIED).when(d.record_turn, c.RecordTurn("w", "t2", "m2", "narrator"))


def test_a_version_is_chosen_once_the_choice_before_it_is_gone() -> None:
    other = e.VersionRendered(
        "w", "s1", "m2", "v2", "ada", "No.", (Passage("speech", "No."),), ("you", "ada"), "model",
        "stop", "t2",
    )  # fmt: skip
    with pytest.raises(Conflict, match="another version is chosen"):
        after(*REPLIED, other).when(d.choose_version, c.ChooseVersion("w", "m2", "v2"))
    retracted = (*PLAYING, SAID, ASKED, SENT, RENDERED, other)  # as folded without the choice
    assert after(*retracted).when(d.choose_version, c.ChooseVersion("w", "m2", "v2")) == [
        e.VersionChosen("w", "m2", "v2")
    ]
    with pytest.raises(NotFound):
        after(*retracted).when(d.choose_version, c.ChooseVersion("w", "m2", "v9"))
    with pytest.raises(Conflict, match="newest"):
        after(*REPLIED).when(d.choose_version, c.ChooseVersion("w", "m1", "v1"))


def test_edits_hiding_and_witnesses_follow_from_the_message() -> None:
    world = state(*REPLIED)
    for decide, command in [
        (d.edit_message, c.EditMessage("w", "m1", "", "Hello, Ada.")),
        (d.hide_message, c.HideMessage("w", "m1")),
        (d.unhide_message, c.UnhideMessage("w", "m1")),
        (d.correct_witnesses, c.CorrectWitnesses("w", "m1", ("you", "ben"), {"ben": "overheard"})),
    ]:
        (happened,) = decide(world, command, KNOWN)  # type: ignore[operator]
        assert isinstance(happened, Draft)
        assert 7 in happened.because
    with pytest.raises(NotFound):
        after(*REPLIED).when(d.hide_message, c.HideMessage("w", "m9"))


def test_who_learned_of_a_message_is_a_witness() -> None:
    world = state(*REPLIED)
    with pytest.raises(Invalid, match="no witnesses"):
        d.correct_witnesses(world, c.CorrectWitnesses("w", "m1", ("you",), {"ben": "told"}), KNOWN)
    with pytest.raises(Invalid, match="nobody"):
        d.correct_witnesses(world, c.CorrectWitnesses("w", "m1", ()), KNOWN)


def test_a_failed_turn_frees_the_floor() -> None:
    failed = e.TurnFailed("w", "t1", "the model is gone", "Try again.")
    command = c.FailTurn("w", "t1", "the model is gone", "Try again.")
    assert after(*PLAYING, ASKED).when(d.fail_turn, command) == [failed]
    assert state(*PLAYING, ASKED, failed).turn is None
    assert after(*PLAYING, ASKED, failed).when(d.fail_turn, command) == []
