"""Memory per witness: a cue brings it back for whoever was there, and for nobody else."""

from pathlib import Path

import pytest
from tests.worlds.stage import CAFE, Stage, stage

from everloop.app import USER
from everloop.errors import Forbidden, Invalid, NotFound
from everloop.log import Context
from everloop.memory import GrantAudience, RememberItem, SearchQuery
from everloop.worlds import Line, Opening, OpenScene
from everloop.worlds.witness_memory import EVERY_WORLD, world_scope

HOST = Context(actor="agent:host")


def tell(play: Stage, text: str, *witnesses: str) -> None:
    """Robin says something; nobody replies."""
    play.worlds.say(play.id, Line(text, witnesses=witnesses, reply=False), USER)


def fill(play: Stage, lines: int) -> None:
    """Talk about nothing, until what was said before is out of sight."""
    for number in range(lines):
        tell(play, f"It is windy at bench number {number} today.")


def end_scene(play: Stage) -> None:
    """Close the scene and open another one in the same place."""
    play.worlds.close_scene(play.id, USER)
    play.read()
    play.do(
        OpenScene(
            play.id,
            f"s{play.world.position}-{len(play.world.closed_scenes)}",
            "cafe",
            play.world.people,
        )
    )


def test_a_cue_brings_a_memory_back_to_its_witness_alone(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        tell(play, "The key to the lighthouse lies under the third fern.", play.ada)
        fill(play, 25)
        end_scene(play)
        fill(play, 3)
        tell(play, "Where is the key to the lighthouse?")
        assert "third fern" in play.told(play.ada)
        assert "third fern" not in play.told(play.ben)


@pytest.mark.promise("P-WORLD-1")
def test_what_characters_remember_is_in_no_search_of_the_owner_or_of_hosts(tmp_path: Path) -> None:
    with stage(tmp_path, ["I see."]) as play:
        play.say("The key to the lighthouse lies under the third fern.")
        play.read()
        (item,) = play.worlds.memories.of(play.id)
        memory = play.engine.memory
        play.engine.do(GrantAudience("agent:host", ("*",)))
        asked = SearchQuery("key lighthouse fern", weak=True)
        for principal in ("user", "agent:host"):
            assert not memory.recall(principal, asked).hits
            with pytest.raises(NotFound):
                memory.find(principal, item.item_id)


def test_nobody_else_writes_into_a_world_or_is_granted_all_of_them(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        scope = world_scope(play.id)
        with pytest.raises(Forbidden, match="cannot write"):
            play.engine.do(RememberItem("m1", "Ada owes me.", scope=scope), by=HOST)
        with pytest.raises(Invalid, match="cannot be granted"):
            play.engine.do(GrantAudience("agent:host", (EVERY_WORLD,)))


def test_who_is_granted_a_world_finds_nothing_that_characters_remember(tmp_path: Path) -> None:
    with stage(tmp_path, ["I see."]) as play:
        play.say("The key to the lighthouse lies under the third fern.")
        play.read()
        play.engine.do(GrantAudience("agent:host", ("*", world_scope(play.id))))
        asked = SearchQuery("key lighthouse fern", weak=True)
        assert not play.engine.memory.recall("agent:host", asked).hits


def test_a_line_in_the_dialogue_is_not_recalled_as_well(tmp_path: Path) -> None:
    with stage(tmp_path, ["I see."]) as play:
        play.say("The key to the lighthouse lies under the third fern.")
        play.read()
        kinds = [one.kind for one in play.prompt(play.ada).fitted.kept if "fern" in one.text]
        assert kinds == ["dialogue"]


def test_of_a_long_line_its_speaker_and_what_the_cue_is_about_are_recalled(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        much = " ".join(f"On day {number} we had soup with dumplings again." for number in range(9))
        tell(play, f"{much} The key to the lighthouse lies under the third fern. {much}")
        fill(play, 25)
        end_scene(play)
        tell(play, "Where is the key to the lighthouse?")
        recalled = [one for one in play.prompt(play.ada).fitted.kept if one.kind == "memory"]
        (found,) = (one for one in recalled if "third fern" in one.text)
        assert found.text.startswith("Remembered: Robin: ")
        assert found.tokens <= play.worlds.settings.memory_tokens + 10


def test_what_a_summary_repeats_of_a_line_is_recalled_once(tmp_path: Path) -> None:
    with stage(tmp_path) as play:
        tell(play, "The key to the lighthouse lies under the third fern.")
        for _ in range(play.worlds.settings.summaries + 1):
            fill(play, 3)
            end_scene(play)
        tell(play, "Where is the key to the lighthouse?")
        assert play.told(play.ada).count("third fern") == 1


def test_a_character_remembers_in_another_world_what_it_witnessed(tmp_path: Path) -> None:
    with stage(tmp_path, ["I see."]) as play:
        play.say("The key to the lighthouse lies under the third fern.")
        play.read()
        other = play.worlds.open(
            Opening("Later", "Sam", "2026-06-01T18:00", CAFE, (play.ada,)), USER
        )
        play.worlds.say(other, Line("Where is the key to the lighthouse?", reply=False), USER)
        play.id = other
        assert "third fern" in play.told(play.ada)
        assert "third fern" not in play.told("you")


def test_many_memories_are_rated_at_once(tmp_path: Path) -> None:
    with stage(tmp_path, ["I see."]) as play:
        play.say("The key to the lighthouse lies under the third fern.")
        play.read()
        ids = [one.item_id for one in play.worlds.memories.of(play.id)]
        assert play.worlds.memories.rate([*ids, "unknown"], 3, USER) == 1
        assert [one.significance for one in play.worlds.memories.of(play.id)] == [3]
        assert [one.pinned for one in play.worlds.memories.of(play.id)] == [True]


def test_the_memory_is_gone_with_what_it_is_of(tmp_path: Path) -> None:
    with stage(tmp_path, ["I see."]) as play:
        play.say("The key to the lighthouse lies under the third fern.", message_id="m1")
        play.read()
        play.worlds.rewind(play.id, "m1", USER)
        tell(play, "Where is the key to the lighthouse?")
        assert "third fern" not in play.told(play.ada)
        assert not play.worlds.memories.of(play.id)
