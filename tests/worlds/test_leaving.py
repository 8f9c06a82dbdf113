"""Someone leaves or comes late: names stay, and nobody is told what they were not there for."""

from pathlib import Path

from tests.worlds.stage import Stage, stage

from everloop.app import USER
from everloop.worlds import (
    NARRATOR,
    ChangePresence,
    CorrectWitnesses,
    DefinePlace,
    DescribeScene,
    LeaveCast,
    Line,
    OpenPlot,
    OpenScene,
    Place,
    PlanEvent,
    story_messages,
)

PREMISE = "The cobalt letter is hidden in the clock."


def tell(play: Stage, text: str, *, speaker: str = "you") -> str:
    return play.worlds.say(play.id, Line(text, speaker=speaker, reply=False), USER).written


def leave(play: Stage, who: str) -> None:
    play.do(LeaveCast(play.id, who, "next"))


def test_who_left_the_cast_keeps_their_name_in_summaries_and_exports(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        tell(play, "The ferry leaves at six, I think.", speaker=play.ben)
        leave(play, play.ben)
        play.read()
        told = play.told(play.ada)
        assert "Ben: The ferry leaves at six" in told
        assert play.ben not in told
        withheld = play.worlds.inspect(play.id, play.ada).withheld
        assert play.ben not in " ".join(f"{one.text} {one.reason}" for one in withheld)
        chat = play.engine.exchange.exports.world(play.id, play.world, "chat").content
        assert b'"name":"Ben"' in chat


def test_who_left_the_cast_stays_a_witness_when_a_line_is_corrected(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        line = tell(play, "The ferry leaves at six, I think.")
        leave(play, play.ben)
        play.worlds.correct_witnesses(CorrectWitnesses(play.id, line, ("you", play.ben)), USER)
        assert play.messages[0].witnesses == ("you", play.ben)
        play.read()
        memories = play.worlds.memories
        assert memories.of(play.id, play.ben)
        assert not any("six" in one.text for one in memories.of(play.id, play.ada))


def test_who_came_later_is_not_told_the_premise_when_another_leaves_the_cast(
    tmp_path: Path,
) -> None:
    with stage(tmp_path) as play:
        play.worlds.close_scene(play.id, USER)
        play.do(OpenScene(play.id, "s2", "cafe", ("you", play.ada), PREMISE))
        play.do(ChangePresence(play.id, ("you", play.ada, play.ben)))
        assert PREMISE not in play.told(play.ben)
        leave(play, play.ada)
        assert PREMISE not in play.told(play.ben)


def test_a_premise_is_told_to_those_who_were_there_when_it_was_said(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        play.do(ChangePresence(play.id, ("you", play.ada)))
        play.do(DescribeScene(play.id, PREMISE, "rain"))
        play.do(ChangePresence(play.id, ("you", play.ada, play.ben)))
        assert PREMISE in play.told(play.ada)
        assert PREMISE not in play.told(play.ben)
        assert PREMISE not in play.told(NARRATOR)
        play.do(DescribeScene(play.id, PREMISE, "sun"))  # the weather is seen by all
        assert PREMISE not in play.told(play.ben)
        assert "Weather: sun." in play.told(play.ben)


def test_a_thread_that_some_do_not_know_of_keeps_its_title_from_them(tmp_path: Path) -> None:
    with stage(tmp_path, ["Which debt?"]) as play:
        play.do(OpenPlot(play.id, "p1", "The debt to the cobalt bank", "", ("you", play.ada)))
        play.say("Let us talk about the debt of the town, all of us.")
        play.read({"plots": [{"title": "the debt", "change": "updated", "summary": "Talked."}]})
        assert "cobalt" in play.told(play.ada)
        assert "cobalt" not in play.told(play.ben)
        assert "Unresolved: the debt. Talked." in play.told(play.ben)


def test_an_older_line_is_read_without_the_situation_of_now(tmp_path: Path) -> None:
    with stage(tmp_path, ["Good."]) as play:
        reply = play.say("We meet again, the three of us.")
        play.worlds.close_scene(play.id, USER)
        play.do(DefinePlace(play.id, Place("vault", "The cobalt vault")))
        play.do(PlanEvent(play.id, "e1", "The jade heist", known_to=(play.ada, play.ben)))
        play.do(OpenScene(play.id, "s2", "vault", (play.ada, play.ben)))
        play.effects({"gist": "They met again."})
        play.turn_effects.read_reply(play.id, reply.message_id)
        (call,) = play.reader.calls
        shown = str(call[0].messages)
        assert "We meet again" in shown
        assert "vault" not in shown
        assert "heist" not in shown


def test_nobody_speaks_unasked_where_the_story_branched_off(tmp_path: Path) -> None:
    with stage(tmp_path, ["Ben, what do you say?", "I say nothing."]) as play:
        reply = play.say("Good evening, you two.")
        play.worlds.branch_after(play.id, reply.message_id, USER)
        play.read({"gist": "They met.", "interjects": "Ben"})
        assert play.world.turn is None
        with play.engine.reading() as reader:
            assert len(story_messages(reader, play.id)) == 2


def test_a_silent_character_speaks_unasked_on_the_branch_of_the_reply(tmp_path: Path) -> None:
    with stage(tmp_path, ["Ben, what do you say?", "I say nothing."]) as play:
        play.say("Good evening, you two.")
        play.running.turns.stop()
        play.read({"gist": "They met.", "interjects": "Ben"})
        assert play.world.turn is not None
        assert play.world.turn.speaker == play.ben


def test_words_outside_the_story_are_for_one_reply_also_if_it_was_whispered(
    tmp_path: Path,
) -> None:
    with stage(tmp_path) as play:
        tell(play, "Well? ((Let Ada lie about the letter.))")
        assert "lie about the letter" in play.told(play.ben)
        whisper = Line("It was me.", speaker=play.ada, witnesses=("you", play.ada), reply=False)
        play.worlds.say(play.id, whisper, USER)
        assert "lie about the letter" not in play.told(play.ben)
