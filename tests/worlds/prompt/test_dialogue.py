"""Dialogue in prompts: earlier scenes take the place of older lines, so prompts do not grow."""

from pathlib import Path

import pytest
from tests.worlds.simulation import Simulation, simulation

from everloop.worlds import SummariseScene, WorldPrompt
from everloop.worlds.prompt.dialogue import GAVE_WAY

LINE = "This is line {number}, and it has about as many words as a short message of a chat has,"
MORE = " which is to say thirty or so, with a comma here and there."
SCENE_TOKENS, LONG_SCENE_TOKENS = 160, 450


def earlier_scenes(sim: Simulation, scenes: int, tokens: int) -> None:
    """Scenes that Ada remembers, each in so many tokens."""
    for _ in range(scenes):
        scene = sim.world.scene
        assert scene
        sim.next_scene()
        words = "word " * (tokens - 20)
        sim.do(SummariseScene(sim.id, scene.scene_id, sim.ada, words.strip()))


def talk(sim: Simulation, lines: int, first: int = 0) -> None:
    for number in range(first, first + lines):
        sim.say(LINE.format(number=number) + MORE)


def shown_lines(prompt: WorldPrompt) -> list[int]:
    """The numbers of the lines that a prompt has."""
    said = (one.text for one in prompt.fitted.kept if one.kind == "dialogue")
    return [int(text.partition("line ")[2].partition(",")[0]) for text in said]


def prompt_after(folder: Path, lines: int, scenes: int, tokens: int) -> WorldPrompt:
    with simulation(folder, reading=False) as sim:
        earlier_scenes(sim, scenes, tokens)
        talk(sim, lines)
        return sim.worlds.prompts.build(sim.id, sim.ada)


@pytest.mark.parametrize(
    ("lines", "scenes", "tokens", "first"),
    [
        pytest.param(60, 0, 0, 0, id="without a past all lines stay"),
        pytest.param(60, 2, SCENE_TOKENS, 10, id="two earlier scenes take the place of ten"),
        pytest.param(60, 4, SCENE_TOKENS, 20, id="four earlier scenes take the place of twenty"),
        pytest.param(60, 4, LONG_SCENE_TOKENS, 30, id="half of the lines stay"),
        pytest.param(40, 4, SCENE_TOKENS, 0, id="a short scene gives no line away"),
    ],
)
def test_earlier_scenes_take_the_place_of_older_lines(
    tmp_path: Path, lines: int, scenes: int, tokens: int, first: int
) -> None:
    prompt = prompt_after(tmp_path, lines, scenes, tokens)
    assert shown_lines(prompt) == list(range(first, lines))
    assert sum(one.kind == "summary" for one in prompt.fitted.kept) == scenes


def test_a_prompt_with_a_past_is_no_longer_than_one_without(tmp_path: Path) -> None:
    early = prompt_after(tmp_path / "early", 60, 0, 0)
    for scenes in (1, 2, 3, 4):
        late = prompt_after(tmp_path / f"late{scenes}", 60, scenes, SCENE_TOKENS)
        assert late.fitted.tokens <= early.fitted.tokens


def test_what_gave_way_is_listed_and_the_prompt_says_that_something_is_missing(
    tmp_path: Path,
) -> None:
    prompt = prompt_after(tmp_path, 60, 4, SCENE_TOKENS)
    assert [(one.segment.kind, one.why) for one in prompt.fitted.dropped] == [
        ("dialogue", GAVE_WAY)
    ] * 20
    assert all(one.segment.tokens for one in prompt.fitted.dropped)
    assert "[Earlier parts of this scene are left out.]" in str(prompt.prompt.messages[0])


def test_lines_give_way_ten_at_a_time_so_that_prompts_begin_the_same_way(tmp_path: Path) -> None:
    with simulation(tmp_path, reading=False) as sim:
        earlier_scenes(sim, 4, SCENE_TOKENS)
        talk(sim, 40)
        prompts: list[WorldPrompt] = []
        for number in range(40, 80):
            talk(sim, 1, number)
            prompts.append(sim.worlds.prompts.build(sim.id, sim.ada))
    assert len({one.prompt.system for one in prompts}) == 1
    assert [shown_lines(one)[0] for one in prompts] == [
        first for first in (10, 20, 30, 40) for _ in range(10)
    ]
