"""Closed scenes and skipped time: one summary per witness, from what that witness saw."""

from pathlib import Path

import pytest
from tests.worlds.stage import RULES, Stage, stage

from everloop.app import USER
from everloop.errors import Invalid, ModelFailed
from everloop.ports import Text
from everloop.settings import Settings
from everloop.worlds import (
    ChangePresence,
    CharacterSheet,
    CompleteEvent,
    DigestRecorded,
    JoinCast,
    LeaveCast,
    Line,
    OffstageRemembered,
    OpenScene,
    PlanEvent,
    SceneSummarised,
    StartEvent,
    TimeSkip,
    WorldSettings,
    timeline,
)

CLOSING = Settings(
    memory=RULES.memory, worlds=WorldSettings(extraction="rules", close_scenes="model")
)


def tell(play: Stage, text: str, *, speaker: str = "you") -> None:
    play.worlds.say(play.id, Line(text, speaker=speaker, reply=False), USER)


def summaries(play: Stage) -> dict[str, str]:
    with play.engine.reading() as reader:
        found = [one.event for one in timeline(reader, play.id, ("scene_summarised",))]
    return {one.witness: one.text for one in found if isinstance(one, SceneSummarised)}


def shown(play: Stage) -> list[str]:
    """What the reading model was shown, call by call."""
    parts = [call[0].messages[0].parts[0] for call in play.reader.calls]
    return [part.text for part in parts if isinstance(part, Text)]


def test_each_witness_gets_a_summary_of_what_they_saw_and_of_nothing_else(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        tell(play, "We all love the amber lamp.")
        play.do(ChangePresence(play.id, ("you", play.ada)))
        tell(play, "Now that Ben is gone: the cobalt safe is open.")
        play.do(ChangePresence(play.id, ("you", play.ben)))
        tell(play, "Ada must not hear of the jade ring.")
        play.worlds.close_scene(play.id, USER)
        play.read()
        told = summaries(play)
        assert set(told) == {"you", play.ada, play.ben}
        words = {
            who: [w for w in ("amber", "cobalt", "jade") if w in text] for who, text in told.items()
        }
        assert words["you"] == ["amber", "cobalt", "jade"]
        assert words[play.ada] == ["amber", "cobalt"]
        assert words[play.ben] == ["amber", "jade"]


def test_a_model_sums_up_for_a_witness_from_its_lines_alone(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        tell(play, "We all love the amber lamp.")
        play.do(ChangePresence(play.id, ("you", play.ada)))
        tell(play, "The cobalt safe is open, Ada.")
        play.worlds.close_scene(play.id, USER)
        ada = {
            "summary": "Ada heard of an open safe.",
            "learned": ["The safe is open."],
            "relationships": [
                {
                    "target": "Robin",
                    "summary": "Ada trusts Robin more.",
                    "facts": ["Robin owns a safe."],
                }
            ],
        }
        play.read(
            {},
            {},
            {"summary": "Robin spoke of a safe."},
            ada,
            {"summary": "Ben left early."},
            {"text": "Three friends with one secret too many."},
        )
        scenes = [one for one in shown(play) if one.startswith("Place:")]
        assert ["cobalt" in one for one in scenes] == [True, True, False]
        assert summaries(play)[play.ada] == "Ada heard of an open safe."
        edge = play.world.edge(play.ada, "you")
        assert (edge.summary, edge.facts) == ("Ada trusts Robin more.", ("Robin owns a safe.",))
        assert play.world.group == "Three friends with one secret too many."
        play.do(OpenScene(play.id, "s2", "cafe", play.world.people))
        assert "Ada heard of an open safe." in play.told(play.ada)
        assert "safe" not in play.told(play.ben)


def test_a_model_that_fails_leaves_plain_summaries(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        tell(play, "We all love the amber lamp.")
        play.worlds.close_scene(play.id, USER)
        play.read(*[ModelFailed("gone")] * 20)
        assert "amber lamp" in summaries(play)[play.ben]


def test_what_a_model_wrote_is_in_no_plain_summary(tmp_path: Path) -> None:
    with stage(tmp_path, ["The velvet night embraced them all."]) as play:
        play.say("Good night, Ada, see you at the pier.")
        play.worlds.close_scene(play.id, USER)
        play.read()
        assert "pier" in summaries(play)[play.ada]
        texts = [*summaries(play).values(), *(m.text for m in play.worlds.memories.of(play.id))]
        assert not any("velvet" in text for text in texts)


def test_editing_a_line_of_a_closed_scene_makes_its_summaries_again(tmp_path: Path) -> None:
    with stage(tmp_path, ["Oh."]) as play:
        play.say("We all love the amber lamp.", message_id="m1")
        play.worlds.close_scene(play.id, USER)
        play.read()
        play.worlds.edit(play.id, "m1", "We all love the violet lamp.", USER)
        assert not summaries(play)
        play.read()
        assert "violet" in summaries(play)[play.ada]
        assert "amber" not in str(summaries(play))


def test_a_scene_that_a_model_finds_over_is_closed_if_that_is_set(tmp_path: Path) -> None:
    with stage(tmp_path, ["Good night."], settings=CLOSING) as play:
        play.say("Good night, Ada.")
        play.read({"gist": "They parted.", "scene_over": "they said good night"})
        assert play.world.scene is None


def test_a_scene_that_a_model_finds_over_is_a_proposal_by_default(tmp_path: Path) -> None:
    with stage(tmp_path, ["Good night."]) as play:
        play.say("Good night, Ada.")
        play.read({"gist": "They parted.", "scene_over": "they said good night"})
        assert play.world.scene


@pytest.mark.parametrize(
    ("skip", "stays"),
    [
        (TimeSkip(180), True),
        (TimeSkip(181), False),
        (TimeSkip(600, how="elide"), True),
        (TimeSkip(10, how="jump"), False),
    ],
)
def test_a_threshold_decides_between_elision_and_jump(
    tmp_path: Path, skip: TimeSkip, stays: bool
) -> None:
    with stage(tmp_path) as play:
        play.worlds.skip_time(play.id, skip, USER)
        assert (play.world.scene is not None) is stays
        assert play.world.clock > "2026-05-01T18:00"


def test_a_jump_leaves_everyone_a_memory_of_their_own(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        play.worlds.skip_time(play.id, TimeSkip(60 * 24 * 7, "A week later."), USER)
        play.read()
        with play.engine.reading() as reader:
            found = [one.event for one in timeline(reader, play.id, ("offstage_remembered",))]
        told = {one.witness: one.text for one in found if isinstance(one, OffstageRemembered)}
        assert set(told) == {"you", play.ada, play.ben}
        assert told[play.ada] == "About 7 days went by for Ada. A week later."
        play.read()
        assert len(play.worlds.memories.of(play.id, play.ada)) == 1
        play.do(OpenScene(play.id, "s2", "cafe", play.world.people))
        assert "About 7 days went by for Ada." in play.told(play.ada)
        assert "for Ben" not in play.told(play.ada)


def test_who_joins_after_a_jump_did_not_live_through_it(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        play.worlds.skip_time(play.id, TimeSkip(60 * 24 * 7, "The zephyr was sold."), USER)
        play.read()
        play.do(LeaveCast(play.id, play.ben))
        cora = play.worlds.author(CharacterSheet("Cora"), USER)
        play.do(JoinCast(play.id, cora, "Cora"))
        play.do(OpenScene(play.id, "s2", "cafe", play.world.people))
        play.read()
        assert "zephyr" in play.told(play.ada)
        assert "zephyr" not in play.told(cora)
        assert not play.worlds.memories.of(play.id, cora)


def test_a_meanwhile_scene_gets_a_digest_for_those_who_were_there(tmp_path: Path) -> None:
    with stage(tmp_path, ["I sold the topaz boat.", "You did what?"]) as play:
        play.worlds.close_scene(play.id, USER)
        play.do(OpenScene(play.id, "s2", "cafe", (play.ada, play.ben)))
        first = play.wait(play.worlds.request_reply(play.id, USER))
        second = play.wait(play.worlds.request_reply(play.id, USER))
        assert (first.speaker, second.speaker) == (play.ada, play.ben)
        play.worlds.close_scene(play.id, USER)
        play.read(
            {},
            {},
            {"summary": "Ada told Ben."},
            {"summary": "Ben was told."},
            {"text": "Ada told Ben that she sold the topaz boat."},
        )
        with play.engine.reading() as reader:
            (digest,) = [one.event for one in timeline(reader, play.id, ("digest_recorded",))]
        assert isinstance(digest, DigestRecorded)
        assert set(summaries(play)) == {play.ada, play.ben}
        play.do(OpenScene(play.id, "s3", "cafe", play.world.people))
        assert "topaz" in play.told(play.ada)
        assert "topaz" not in play.told("you")


def test_a_finished_event_and_learned_facts_are_remembered_by_those_there(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        play.do(ChangePresence(play.id, ("you", play.ada)))
        play.do(PlanEvent(play.id, "picnic", "A picnic"))
        play.do(StartEvent(play.id, "picnic"))
        play.do(CompleteEvent(play.id, "picnic", "They had lunch by the river."))
        tell(play, "That was a fine lunch.")
        play.worlds.close_scene(play.id, USER)
        play.read(
            {}, {"summary": "A walk."}, {"summary": "A walk.", "learned": ["Robin can swim."]}
        )
        play.read()
        ada = {one.kind: one.text for one in play.worlds.memories.of(play.id, play.ada)}
        assert ada["event"] == "They had lunch by the river."
        assert ada["fact"] == "Robin can swim."
        assert not play.worlds.memories.of(play.id, play.ben)


def test_an_opening_is_proposed_from_prose(tmp_path: Path) -> None:
    prose = "Ada waits for you at the old pier. It rains."
    with stage(tmp_path) as play:
        plain = play.running.propose_opening(prose)
        assert plain.character_ids == (play.ada,)
        assert (plain.premise, plain.read_by) == (prose, "rules")
    answer = (
        '{"title": "The pier", "place": {"name": "Old pier"}, "characters": ["Ada"],'
        ' "clock": "2026-05-01T21:00", "weather": "rain", "premise": "Ada waits."}'
    )
    reading = Settings(memory=RULES.memory)
    with stage(tmp_path / "2", [answer], settings=reading) as play:
        read = play.running.propose_opening(prose)
        assert (read.title, read.place.name, read.weather) == ("The pier", "Old pier", "rain")
        assert (read.clock, read.character_ids) == ("2026-05-01T21:00:00+00:00", (play.ada,))
        with pytest.raises(Invalid):
            play.running.propose_opening(" ")


def test_what_is_made_in_the_background_is_made_by_a_running_service(tmp_path: Path) -> None:
    with stage(tmp_path, ["Hello."]) as play:
        play.running.world_effects.start()
        play.say("We all love the amber lamp.")
        play.worlds.close_scene(play.id, USER)
        for fact in play.engine.follow(after=0):
            if isinstance(fact.event, SceneSummarised) and fact.event.witness == play.ben:
                break
        play.running.world_effects.stop()
        assert "amber" in summaries(play)[play.ben]
