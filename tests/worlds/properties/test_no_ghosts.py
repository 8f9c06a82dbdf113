"""No ghosts: what was unsaid leaves prompts and memory as if it had never been said."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import SOAKING
from tests.worlds.simulation import Simulation, simulation

from everloop.app import USER
from everloop.worlds import (
    ChangePresence,
    CompleteEvent,
    IntroduceProp,
    OpenPlot,
    PlanEvent,
    ShiftEdge,
    StartEvent,
    TimeSkip,
)

STEPS = ("talk", "whisper", "leave", "feel", "plot", "picnic", "skip", "scene")
WAYS = ("rewind", "retract")
EXAMPLES = 300 if SOAKING else 6
step = st.sampled_from(STEPS)


def play(sim: Simulation, steps: list[str]) -> None:
    """Play steps, and make what follows from them."""
    for number, each in enumerate(steps):
        _step(sim, each, f"{each}{number}")
        sim.read()


def _step(sim: Simulation, kind: str, word: str) -> None:
    here = sim.world.scene
    assert here
    present = here.present
    match kind:
        case "talk":
            sim.say(f"Let us talk about {word}-1 for a while.")
            who = next((one for one in present if one != "you"), "")
            if who:
                sim.reply(who, f'"Yes, {word}-2," came the answer.')
        case "whisper":
            sim.say(f"Just for us: {word}-3 is true.", "you", ("you", present[-1]))
        case "leave":
            left = ("you", sim.ada) if sim.ben in present else sim.world.people
            sim.do(ChangePresence(sim.id, left))
        case "feel":
            sim.do(ShiftEdge(sim.id, sim.ada, "you", 5, 1, word))
        case "plot":
            sim.do(OpenPlot(sim.id, sim.new_id("p"), f"The {word}-4 question"))
        case "picnic":
            event = sim.new_id("e")
            sim.do(PlanEvent(sim.id, event, f"Picnic {word}"))
            sim.do(StartEvent(sim.id, event))
            sim.do(IntroduceProp(sim.id, sim.new_id("o"), f"basket {word}", event, sim.ada))
            if event.endswith(("1", "3", "5")):
                sim.do(CompleteEvent(sim.id, event, f"They ate {word}."))
        case "skip":
            sim.worlds.skip_time(sim.id, TimeSkip(60), USER)
        case _:
            sim.next_scene(("you", sim.ada, sim.ben))


def situation(sim: Simulation) -> object:
    """All that anyone is told, and all that is remembered."""
    memories = sorted(one.text for one in sim.worlds.memories.of(sim.id, limit=500))
    world = sim.world
    return sim.all_told(), memories, world.edges, world.props, world.events, world.plots


@pytest.mark.promise("P-WORLD-2")
@settings(max_examples=EXAMPLES)
@given(
    base=st.lists(step, max_size=5), detour=st.lists(step, max_size=5), way=st.sampled_from(WAYS)
)
def test_a_deleted_or_rewound_line_leaves_no_trace(
    base: list[str], detour: list[str], way: str
) -> None:
    with TemporaryDirectory() as folder, simulation(Path(folder)) as sim:
        play(sim, [*base, "talk"])
        sim.do(ChangePresence(sim.id, sim.world.people))
        before = situation(sim)
        first = sim.say("And now for something else entirely.")
        if way == "retract":  # what was said in that line alone, with the reply to it
            second = sim.reply(sim.ada, '"As you like," she said.')
            sim.read()
            for message_id in (second, first):
                sim.worlds.retract_message(sim.id, message_id, "never said", USER)
        else:
            play(sim, ["talk", *detour])
            sim.worlds.rewind(sim.id, first, USER)
        sim.read(everything=True)
        assert situation(sim) == before


@pytest.mark.promise("P-WORLD-2")
def test_switching_branches_switches_all_that_is_told(tmp_path: Path) -> None:
    with simulation(tmp_path) as sim:
        play(sim, ["talk", "plot"])
        home = sim.engine.log.branches.current_branch_of(f"world:{sim.id}").name
        first = sim.say("What if we took the jade-1 road?")
        play(sim, ["talk", "feel"])
        there = situation(sim)
        sim.worlds.rewind(sim.id, first, USER)
        play(sim, ["talk", "picnic"])
        other = sim.engine.log.branches.current_branch_of(f"world:{sim.id}").name
        here = situation(sim)
        assert here != there
        sim.worlds.switch_branch(sim.id, home, USER)
        assert situation(sim) == there
        sim.worlds.switch_branch(sim.id, other, USER)
        assert situation(sim) == here


@pytest.mark.parametrize("how", ["swipe", "edit", "hide"])
def test_a_changed_line_leaves_the_world_as_if_it_had_been_so(tmp_path: Path, how: str) -> None:
    with simulation(tmp_path / "changed") as sim, simulation(tmp_path / "plain") as plain:
        for each in (sim, plain):
            play(each, ["talk", "feel", "plot"])
        first = sim.say("Take the amber-7 road to the mill.")
        reply = sim.reply(sim.ada, '"Then amber-8 it is," she said.')
        sim.read()
        match how:
            case "swipe":
                turn = sim.worlds.request_version(sim.id, reply, "", USER)
                sim.reply(sim.ada, '"Never the jade-9 road," she said.', reply, turn)
                plain.say("Take the amber-7 road to the mill.")
                plain.reply(plain.ada, '"Never the jade-9 road," she said.')
            case "edit":
                sim.worlds.edit(sim.id, first, "Take the jade-9 road to the mill.", USER)
                plain.say("Take the jade-9 road to the mill.")
                plain.reply(plain.ada, '"Then amber-8 it is," she said.')
            case _:
                sim.worlds.hide(sim.id, first, USER)
                plain.reply(plain.ada, '"Then amber-8 it is," she said.')
        sim.read(everything=True)
        plain.read(everything=True)
        names = {sim.ada: "ada", sim.ben: "ben", plain.ada: "ada", plain.ben: "ben"}
        for one in (sim, plain):
            one.next_scene()
        told = [
            {names.get(who, who): text for who, text in each.all_told().items()}
            for each in (sim, plain)
        ]
        assert told[0] == told[1]
        memories = [
            sorted(one.text for one in each.worlds.memories.of(each.id, limit=500))
            for each in (sim, plain)
        ]
        assert memories[0] == memories[1]
