"""Turns of worlds: one streamed reply after a line, recorded step by step, and what ends it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.worlds.stage import stage, whole

from everloop.app import USER
from everloop.errors import Conflict, ModelFailed
from everloop.turns import LiveText
from everloop.worlds import NARRATOR, PLAYER, Line, MessageVersion
from everloop.worlds.narrator import NOTICE
from everloop.worlds.turns import clean_reply, without_echo, without_loop


def test_a_line_gets_a_reply_of_whoever_is_addressed(tmp_path: Path) -> None:
    with stage(tmp_path, ["Aye.", "Hello, Robin."]) as play:
        reply = play.say("Ben, how is the sea?")
        assert (reply.speaker, reply.text) == (play.ben, "Aye.")
        assert play.say("And you, Ada?").speaker == play.ada
        assert play.texts == ["Ben, how is the sea?", "Aye.", "And you, Ada?", "Hello, Robin."]


def test_the_prompt_that_is_sent_is_the_speakers(tmp_path: Path) -> None:
    with stage(tmp_path, ["Aye."]) as play:
        play.say("Ben, how is the sea? ((Keep it short.))")
        assert play.model
        sent = whole(play.model.calls[0][0])
        assert "A sailor." in sent
        assert "A pilot." not in sent
        assert "The player asks, outside the story: Keep it short." in sent
        assert play.model.calls[0][1].tokens_max == 400


def test_a_whispered_line_is_answered_to_those_who_heard_it(tmp_path: Path) -> None:
    replies = ["I will tell nobody.", "Nobody at all.", "Aye.", "Good."]
    with stage(tmp_path, replies) as play:
        whispered = play.say("Ada, the key is under the stone.", witnesses=(play.ada,))
        assert set(whispered.witnesses) == {PLAYER, play.ada}
        turn = play.worlds.request_version(play.id, whispered.message_id, "", USER)
        play.until_ended(turn)
        assert set(play.messages[-1].witnesses) == {PLAYER, play.ada}
        assert set(
            play.wait(play.worlds.request_reply(play.id, USER, speaker=play.ben)).witnesses
        ) == {
            PLAYER,
            play.ada,
            play.ben,
        }
        assert set(play.say("Good evening, all. Ada?").witnesses) == {PLAYER, play.ada, play.ben}


def test_words_outside_the_story_alone_direct_the_reply(tmp_path: Path) -> None:
    with stage(tmp_path, ["*Ada yawns.*"]) as play:
        play.say("((It is late.))")
        assert play.model
        assert "outside the story: It is late." in whole(play.model.calls[0][0])
        assert play.texts == ["*Ada yawns.*"]


def test_a_stopped_reply_keeps_its_text_and_says_so(tmp_path: Path) -> None:
    gate = threading.Event()
    with stage(tmp_path, [["I was going to ", gate, "leave."]]) as play:
        asked = play.worlds.say(play.id, Line("Ada?"), USER)
        play.until_streaming(asked.turn_id)
        play.running.stop_world_turn(play.id, asked.turn_id)
        reply = play.wait(asked)
        assert (reply.text, reply.versions[0].finish) == ("I was going to", "stopped")
        gate.set()


def test_a_stream_that_breaks_keeps_its_text_and_says_so(tmp_path: Path) -> None:
    with stage(tmp_path, [["I was ", ModelFailed("gone")]]) as play:
        reply = play.say("Ada?")
        assert (reply.text, reply.versions[0].finish) == ("I was", "failed")


def test_without_a_model_a_scripted_narrator_says_so(tmp_path: Path) -> None:
    with stage(tmp_path, None) as play:
        reply = play.say("Ada?")
        assert NOTICE in reply.text
        assert reply.versions[0].model == "narrator"
        assert "language model" not in play.told(play.ben)


def test_another_version_is_made_without_the_first_in_its_prompt(tmp_path: Path) -> None:
    with stage(tmp_path, ["With pleasure.", "Leave me alone."]) as play:
        first = play.say("Coffee, Ada?")
        turn = play.worlds.request_version(play.id, first.message_id, "Be rude.", USER)
        play.until_ended(turn)
        assert play.model
        sent = whole(play.model.calls[1][0])
        assert "With pleasure." not in sent
        assert "Be rude." in sent
        assert play.texts == ["Coffee, Ada?", "Leave me alone."]
        play.worlds.choose_version(play.id, first.message_id, first.chosen, USER)
        assert play.texts == ["Coffee, Ada?", "With pleasure."]


def test_after_the_newest_reply_is_deleted_the_story_goes_on(tmp_path: Path) -> None:
    with stage(tmp_path, ["One.", "Two.", "Three."]) as play:
        reply = play.say("Good evening.")
        requested = play.worlds.request_version(play.id, reply.message_id, "", USER)
        play.until_ended(requested)
        play.worlds.retract_message(play.id, reply.message_id, "never said", USER)
        assert play.world.turn is None
        assert play.say("And again.").text == "Three."
        assert play.texts == ["Good evening.", "And again.", "Three."]


def test_a_version_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    with stage(tmp_path, ["With pleasure.", ModelFailed("gone")]) as play:
        first = play.say("Coffee, Ada?")
        play.until_ended(play.worlds.request_version(play.id, first.message_id, "", USER))
        assert play.texts == ["Coffee, Ada?", "With pleasure."]
        assert play.messages[1].chosen == first.chosen


def test_the_model_speaks_for_the_player_on_request(tmp_path: Path) -> None:
    with stage(tmp_path, ["Robin: I will have tea."]) as play:
        reply = play.wait(play.worlds.impersonate(play.id, USER, "Order tea."))
        assert (reply.speaker, reply.text) == ("you", "I will have tea.")


def test_whoever_spoke_last_goes_on(tmp_path: Path) -> None:
    with stage(tmp_path, ["I was", "in Lima."]) as play:
        first = play.say("Where were you, Ben?")
        more = play.wait(play.worlds.continue_reply(play.id, USER))
        assert (first.speaker, more.speaker) == (play.ben, play.ben)
        assert play.texts[1:] == ["I was", "in Lima."]


def test_the_narrator_is_told_what_everyone_present_knows(tmp_path: Path) -> None:
    with stage(tmp_path, ["Rain sets in."]) as play:
        play.worlds.say(play.id, Line("zephyr-417", witnesses=(play.ada,), reply=False), USER)
        reply = play.wait(play.worlds.request_reply(play.id, USER, speaker=NARRATOR))
        assert (reply.speaker, reply.text) == (NARRATOR, "Rain sets in.")
        assert play.model
        assert "zephyr-417" not in whole(play.model.calls[0][0])


def test_a_line_waits_until_the_reply_has_ended(tmp_path: Path) -> None:
    gate = threading.Event()
    with stage(tmp_path, [["I ", gate, "am."]]) as play:
        asked = play.worlds.say(play.id, Line("Ada?"), USER)
        play.until_streaming(asked.turn_id)
        with pytest.raises(Conflict, match="still speaking"):
            play.worlds.say(play.id, Line("Ben?"), USER)
        gate.set()
        play.wait(asked)


def test_the_text_streams_to_watchers_as_it_comes(tmp_path: Path) -> None:
    heard: list[LiveText] = []
    with stage(tmp_path, ["One two three."]) as play:
        play.running.turns.live.watch(heard.append)
        play.say("Count, Ada.")
        play.running.turns.stop()  # the end of the live text comes after that of the turn
        assert "".join(one.text for one in heard) == "One two three."
        assert {one.stream_id for one in heard} == {play.id}


def test_a_line_with_the_id_of_another_is_written_once(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        line = Line("Hello.", message_id="m1", reply=False)
        assert play.worlds.say(play.id, line, USER).written == "m1"
        play.worlds.say(play.id, line, USER)
        assert play.texts == ["Hello."]


def test_an_edited_reply_keeps_its_versions(tmp_path: Path) -> None:
    with stage(tmp_path, ["Helo."]) as play:
        reply = play.say("Ada?")
        play.worlds.edit(play.id, reply.message_id, "Hello.", USER)
        edited = play.messages[1]
        assert (edited.text, edited.edited) == ("Hello.", True)
        assert [type(one) for one in edited.versions] == [MessageVersion]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Ada: Hello.", "Hello."),
        ("Hello.\nRobin: Hi.\nAda: Bye.", "Hello."),
        ("Robin: Hi.\nAda: Hello.\nBen: Ho.", "Hello."),
        ("Robin: Hi.\nAda:", ""),
        ("Ada: Hello.\nAda: Come in.", "Hello.\nCome in."),
        ("She looks up.\n\nThen she says:\n\nHello.", "She looks up.\n\nThen she says:\n\nHello."),
        ("  *nods*  ", "*nods*"),
        ("Adamant.", "Adamant."),
    ],
)
def test_a_reply_is_the_speakers_alone(text: str, said: str) -> None:
    assert clean_reply(text, "Ada", ["Robin", "Ben"]) == said


NOTE = """Time: Saturday, 15 April 2023, 18:30.
Place: the café.
Ada towards Ben: affinity +9, trust +0 of 100. She loves him.
Write what Ada says and does next."""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"Hello.\n[{NOTE}]", "Hello."),
        ("Hello.\nAda towards Ben: affinity +9, trust +0 of 100. She loves him.", "Hello."),
        ("Hello.\nTime: Sunday, 16 April 2023, 19:00.\nPlace: the pier.", "Hello."),
        (NOTE, ""),
        ("Hello.\nPlace: the café.\nTime: it flies.", "Hello.\nPlace: the café.\nTime: it flies."),
        ("Hello.", "Hello."),
    ],
)
def test_a_reply_ends_where_it_repeats_what_only_the_speaker_knows(text: str, said: str) -> None:
    assert without_echo(text, NOTE) == said


def test_nobody_hears_a_prompt_that_a_model_repeats(tmp_path: Path) -> None:
    def repeats() -> Iterator[str]:
        assert play.model is not None
        prompt, _ = play.model.calls[-1]
        yield f"*nods*\n{whole(prompt)}"

    with stage(tmp_path, repeats()) as play:
        assert play.say("Ada?").text == "*nods*"


def test_a_reply_ends_before_it_says_a_line_for_the_fourth_time() -> None:
    assert without_loop("*sobs*\n\n" + "*cries*\n\n" * 9) == "*sobs*" + "\n\n*cries*" * 3
    assert without_loop("Row.\nRow.\nRow.\n\n\n\n\nGently.") == "Row.\nRow.\nRow.\n\n\n\n\nGently."
