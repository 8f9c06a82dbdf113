"""After the turn: what a model or rules read from it, for whom, and how it is taken back."""

from collections.abc import Mapping
from pathlib import Path

from tests.worlds.stage import Stage, stage

from everloop.app import USER
from everloop.errors import ModelFailed
from everloop.worlds import (
    Activity,
    ChangePresence,
    CorrectWitnesses,
    EffectsExtracted,
    EffectsRefused,
    ExtractionFailed,
    Line,
    PlanEvent,
    TimeSkip,
    Trigger,
    newest_entries,
)

COFFEE = {
    "gist": "Ada agreed to have coffee with Robin.",
    "significance": 2,
    "activities": [
        {"who": "Ada", "doing": "stirring", "holding": ["a cup"], "mood": "cheerful"},
    ],
    "feelings": [{"source": "Ada", "target": "Robin", "affinity": 4, "trust": 2, "why": "coffee"}],
    "plots": [{"title": "The unpaid bill", "change": "opened", "summary": "Who pays?"}],
}


def newest(play: Stage, kind: str) -> object:
    with play.engine.reading() as reader:
        found = newest_entries(reader, play.id, kind, limit=1)
    return found[0].event if found else None


def status(play: Stage) -> str:
    return play.world.events["song"].status


def test_a_reading_changes_the_situation(tmp_path: Path) -> None:
    with stage(tmp_path, ["With pleasure."]) as play:
        play.say("Coffee, Ada?")
        play.read(COFFEE)
        world = play.world
        assert world.activities[play.ada] == Activity("", "stirring", ("a cup",))
        assert world.conditions[play.ada].mood == "cheerful"
        assert (world.edge(play.ada, "you").affinity, world.edge(play.ada, "you").trust) == (4, 2)
        assert [plot.title for plot in world.plots.values()] == ["The unpaid bill"]
        gists = [one for one in play.worlds.memories.of(play.id) if one.kind == "gist"]
        assert [(one.text, one.significance) for one in gists] == [
            ("Ada agreed to have coffee with Robin.", 2)
        ]


def test_rules_rate_what_no_model_reads_and_what_is_pivotal_is_pinned(tmp_path: Path) -> None:
    with stage(tmp_path, ["Oh no.", "Indeed."]) as play:
        play.say("My father died on Sunday, Ada.", message_id="m1")
        play.read(ModelFailed("gone"), ModelFailed("gone"))
        play.say("The weather is nice today.", message_id="m2")
        play.read(ModelFailed("gone"), ModelFailed("gone"))
        rated = [(one.significance, one.pinned) for one in play.worlds.memories.of(play.id)]
        assert sorted(rated) == [(0, False), (3, True)]


def test_another_version_takes_all_effects_back(tmp_path: Path) -> None:
    with stage(tmp_path, ["With pleasure.", "No."]) as play:
        before = play.told(play.ada)
        reply = play.say("Coffee, Ada?", message_id="m1")
        play.read(COFFEE)
        play.worlds.retract_message(play.id, "m1", "never said", USER)
        play.worlds.retract_message(play.id, reply.message_id, "never said", USER)
        assert play.told(play.ada) == before
        assert not play.worlds.memories.of(play.id)


def test_a_failing_model_spoils_nothing_and_can_be_asked_again(tmp_path: Path) -> None:
    with stage(tmp_path, ["With pleasure."]) as play:
        reply = play.say("Shall we meet at the blue door?")
        play.read(ModelFailed("gone"), ModelFailed("gone"))
        failed = newest(play, "extraction_failed")
        assert isinstance(failed, ExtractionFailed)
        assert "gone" in failed.reason
        texts = [one.text for one in play.worlds.memories.of(play.id)]
        assert texts == ["Robin: Shall we meet at the blue door?"]
        assert play.worlds.redo_effects(play.id, reply.message_id, USER) == 1
        play.read(COFFEE)
        assert newest(play, "extraction_failed") is None
        assert isinstance(newest(play, "effects_extracted"), EffectsExtracted)
        assert play.world.edge(play.ada, "you").affinity == 4


def test_a_broken_answer_is_no_effect(tmp_path: Path) -> None:
    with stage(tmp_path, ["With pleasure."]) as play:
        play.say("Coffee, Ada?")
        play.read("no json", "still none")
        assert isinstance(newest(play, "extraction_failed"), ExtractionFailed)
        assert not play.world.edges


def test_what_is_impossible_is_left_out_and_said(tmp_path: Path) -> None:
    with stage(tmp_path, ["With pleasure."]) as play:
        play.say("Coffee, Ada?")
        many = [str(number) for number in range(3)]
        play.read(
            {
                "props": [{"name": "x" * 200, "event": "Picnic"}],
                "events": [{"title": "Picnic", "change": "started"}],
                "entered": many,
            }
        )
        refused = newest(play, "effects_refused")
        assert isinstance(refused, EffectsRefused)
        assert "a prop" in refused.reasons[0]
        assert [event.status for event in play.world.events.values()] == ["active"]


def test_a_whisper_is_read_for_its_witnesses_alone(tmp_path: Path) -> None:
    with stage(tmp_path, ["I see."]) as play:
        line = Line("The zephyr is hidden in the mill.", witnesses=(play.ada,), reply=False)
        play.worlds.say(play.id, line, USER)
        play.say("Nice weather, Ada.")
        play.read(
            {
                "gist": "Robin told Ada about the zephyr.",
                "plots": [{"title": "The zephyr", "change": "opened"}],
                "activities": [{"who": "Robin", "doing": "hiding the zephyr"}],
            },
            {"gist": "They talked about the weather."},
        )
        heard = [str(call[0].messages[0].parts[0]) for call in play.reader.calls]
        assert ["zephyr" in one for one in heard] == [True, False]
        assert ["Nice weather" in one for one in heard] == [False, True]  # each line counts once
        ben = [one.text for one in play.worlds.memories.of(play.id, play.ben)]
        ada = [one.text for one in play.worlds.memories.of(play.id, play.ada)]
        assert not any("zephyr" in one for one in ben)
        assert any("zephyr" in one for one in ada)
        assert "zephyr" not in play.told(play.ben)
        assert "doing" not in str(play.world.activities.get("you", ""))


def test_a_turn_of_long_lines_is_read_within_the_budget_of_a_small_model(tmp_path: Path) -> None:
    with stage(tmp_path, ["So it is. " + "aye " * 9_000 + "Amen."]) as play:
        for number in range(30):
            line = Line(f"It begins {number}. " + "word " * 300 + "It ends.", reply=False)
            play.worlds.say(play.id, line, USER)
        play.say("Well, Ada?")
        play.read({})
        (prompt, _), *_ = play.reader.calls
        text = str(prompt.messages[0].parts[0])
        assert len(text) < 4_000 * 4
        for each in ("It begins 0.", "It begins 29.", "Well, Ada?", "So it is.", "Amen."):
            assert each in text


def whisper(play: Stage, text: str, *readings: Mapping[str, object]) -> None:
    """Whisper to Ada, who whispers back; then both lines are read."""
    play.say(text, witnesses=(play.ada,), addressee=play.ada)
    play.read(*readings)


def events(play: Stage) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.title, one.status, one.known_to) for one in play.world.events.values()]


PICNIC_PLANNED = {"events": [{"title": "Picnic", "change": "planned", "gist": "In the zephyr."}]}


def test_an_event_planned_in_a_whisper_is_known_to_those_who_whispered(tmp_path: Path) -> None:
    with stage(tmp_path, ["Gladly."]) as play:
        whisper(play, "Ada, let us have a picnic in the zephyr.", PICNIC_PLANNED)
        assert events(play) == [("Picnic", "planned", ("you", play.ada))]
        assert "zephyr" in play.told(play.ada)
        assert "zephyr" not in play.told(play.ben) + play.told("narrator")


def test_a_whisper_leaves_the_events_of_all_alone(tmp_path: Path) -> None:
    with stage(tmp_path, ["Gladly."]) as play:
        play.do(PlanEvent(play.id, "song", "Song"))
        changes = ("started", "cancelled", "completed")
        read = [{"title": "Song", "change": change} for change in changes]
        whisper(play, "Ada, the song is over.", {"events": read})
        assert status(play) == "planned"


def test_what_came_of_a_whispered_event_stays_between_those_who_whispered(tmp_path: Path) -> None:
    with stage(tmp_path, ["Gladly.", "It is done."]) as play:
        whisper(play, "Ada, let us have a picnic in the zephyr.", PICNIC_PLANNED)
        done = {"title": "Picnic", "change": "completed", "gist": "They ate in the zephyr."}
        whisper(play, "Ada, that was a fine picnic.", {"events": [done]})
        assert events(play) == []
        play.read()
        known = [play.worlds.memories.of(play.id, who) for who in (play.ada, play.ben)]
        assert ["zephyr" in str(one) for one in known] == [True, False]


def test_what_all_hear_is_another_event_and_ends_the_whispered_one(tmp_path: Path) -> None:
    with stage(tmp_path, ["Gladly.", "Splendid.", "It was good."]) as play:
        whisper(play, "Ada, let us have a picnic in the zephyr.", PICNIC_PLANNED)
        play.say("Let us all have a picnic, Ada.")
        play.read({"events": [{"title": "Picnic", "change": "started"}]})
        everyone = ("you", play.ada, play.ben)
        assert events(play) == [
            ("Picnic", "planned", everyone[:2]),
            ("Picnic", "active", everyone),
        ]
        assert "Picnic" in play.told(play.ben)
        play.say("That was the picnic, Ada.")
        play.read({"events": [{"title": "Picnic", "change": "completed"}]})
        assert events(play) == []
        assert "zephyr" not in play.told(play.ben)


def test_a_whisper_about_what_all_just_heard_plans_nothing_twice(tmp_path: Path) -> None:
    with stage(tmp_path, ["Splendid."]) as play:
        line = Line("A picnic, yes; but bring the wine.", witnesses=(play.ada,), reply=False)
        play.worlds.say(play.id, line, USER)
        play.say("Let us all have a picnic, Ada.")
        play.read(PICNIC_PLANNED, PICNIC_PLANNED)
        assert events(play) == [("Picnic", "planned", ("you", play.ada, play.ben))]


def test_an_edit_takes_back_what_was_read_and_it_is_read_again(tmp_path: Path) -> None:
    with stage(tmp_path, ["With pleasure."]) as play:
        play.say("Meet me at the blue door.", message_id="m1")
        play.read(COFFEE)
        play.worlds.edit(play.id, "m1", "Meet me at the red gate.", USER)
        assert not play.worlds.memories.of(play.id)
        assert play.world.edge(play.ada, "you").affinity == 0
        play.read(COFFEE)
        texts = [one.text for one in play.worlds.memories.of(play.id)]
        assert "Robin: Meet me at the red gate." in texts
        assert not any("blue" in one for one in texts)


def test_witnesses_are_proposed_and_count_once_the_player_says_so(tmp_path: Path) -> None:
    with stage(tmp_path, ["Come closer."]) as play:
        reply = play.say("What is it, Ada?")
        play.read({"gist": "Ada has a secret.", "could_not_hear": ["Ben"]})
        found = newest(play, "effects_extracted")
        assert isinstance(found, EffectsExtracted)
        (proposed,) = found.proposed_witnesses
        assert proposed.witnesses == ("you", play.ada)
        assert "Come closer." in play.told(play.ben)
        correction = CorrectWitnesses(play.id, reply.message_id, proposed.witnesses)
        play.worlds.correct_witnesses(correction, USER)
        assert "Come closer." not in play.told(play.ben)
        assert not any("secret" in one.text for one in play.worlds.memories.of(play.id, play.ben))


def test_a_silent_character_interjects_once(tmp_path: Path) -> None:
    with stage(tmp_path, ["Ben would know.", "Aye.", "Ada?"]) as play:
        play.say("Is there a storm, Ada?")
        play.read()
        play.until_ended(play.world.turn.turn_id if play.world.turn else "")
        assert play.texts[-1] == "Aye."
        assert play.messages[-1].speaker == play.ben
        play.read()
        assert play.world.turn is None


def test_who_came_and_went_is_read(tmp_path: Path) -> None:
    with stage(tmp_path, ["I must go.", "Bye."]) as play:
        play.say("Ben?")
        play.read({"gist": "Ben left.", "left": ["Ben", "Robin"]})
        assert play.world.scene
        assert play.world.scene.present == ("you", play.ada)


def test_a_planned_event_begins_when_its_time_and_place_have_come(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        trigger = Trigger("2026-05-01T19:00", "cafe", (play.ben,))
        play.do(PlanEvent(play.id, "song", "The song", trigger=trigger))
        play.effects()
        start = play.turn_effects.start_due_events
        play.do(ChangePresence(play.id, ("you", play.ada)))
        play.worlds.skip_time(play.id, TimeSkip(90), USER)
        start(play.id, 1)
        assert status(play) == "planned"
        at = play.do(ChangePresence(play.id, ("you", play.ada, play.ben)))
        start(play.id, at)
        assert status(play) == "active"
