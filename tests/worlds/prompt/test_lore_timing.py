"""Probability, sticky, cooldown and delay of lore entries, as a lorebook says them."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.worlds.prompt.test_assemble import Stage

from everloop.app import Engine
from everloop.worlds.model import story_commands as s
from everloop.worlds.model.story_events import LoreEntry
from everloop.worlds.prompt.lore_timing import LoreTiming, counts_now, happens, timing_of

LAKE = "The lake is haunted."


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    with Engine.open(tmp_path) as engine:
        yield Stage(engine)


def lore(**timing: object) -> LoreEntry:
    source = json.dumps({"content": LAKE, "extensions": timing})
    return LoreEntry("1", LAKE, keys=("lake",), source=source, scan_depth=1)


def told_after(stage: Stage, *lines: str) -> list[bool]:
    """After which of these lines Ada is told of the lake."""
    told: list[bool] = []
    for line in lines:
        stage.say(line)
        told.append(LAKE in stage.text(stage.ada))
    return told


def test_a_sticky_entry_stays_for_some_messages(stage: Stage) -> None:
    stage.do(s.SetLoreEntry(stage.id, lore(sticky=2)))
    assert told_after(stage, "The lake!", "Yes.", "Yes.", "Yes.") == [True, True, True, False]


def test_an_entry_rests_while_it_cools_down(stage: Stage) -> None:
    stage.do(s.SetLoreEntry(stage.id, lore(cooldown=2)))
    assert told_after(stage, *["The lake!"] * 5) == [True, False, False, True, False]


def test_an_entry_waits_until_so_many_messages_were_said(stage: Stage) -> None:
    stage.do(s.SetLoreEntry(stage.id, lore(delay=3)))
    assert told_after(stage, *["The lake!"] * 4) == [False, False, True, True]


def test_chance_is_the_same_for_the_same_story(stage: Stage) -> None:
    stage.do(s.SetLoreEntry(stage.id, lore(probability=50)))
    told = told_after(stage, *["The lake!"] * 20)
    assert 4 <= sum(told) <= 16
    assert told[-1] == (LAKE in stage.text(stage.ada))
    entry = lore(probability=50)
    assert told == [happens(entry, f"m{number}", 50) for number in range(1, 21)]
    assert not happens(entry, "m1", 0)


def test_a_probability_that_is_not_used_does_not_count() -> None:
    assert timing_of(lore(probability=0, useProbability=False)).probability == 100
    flat = LoreEntry("1", LAKE, source=json.dumps({"probability": 40, "sticky": 3}))
    assert timing_of(flat) == LoreTiming(40, sticky=3)
    for odd in ("", "[]", '{"sticky": "x", "probability": null, "delay": -3}'):
        assert timing_of(LoreEntry("1", LAKE, source=odd)) == LoreTiming()


def test_while_an_entry_is_sticky_it_is_not_brought_in_again() -> None:
    timing = LoreTiming(sticky=1, cooldown=1)
    counted = [counts_now(timing, upto, lambda _: True) for upto in range(1, 7)]
    assert counted == [True, True, False, True, True, False]
