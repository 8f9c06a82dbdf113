"""Memory loss: a cue brings back what was said long ago, over scenes and skips, at every age."""

from pathlib import Path

import pytest
from tests.worlds.simulation import Simulation, simulation

from everloop.app import USER
from everloop.testing.seeded_random import SeededRandom
from everloop.worlds import TimeSkip

SCENE = 25  # lines of a scene
CANARIES = 20
THINGS = ("lantern", "violin", "compass", "teapot", "saddle", "anchor", "mirror", "trumpet",
          "telescope", "carpet", "hammock", "chess set", "sextant", "candlestick", "kettle",
          "typewriter", "globe", "barometer", "parasol", "quilt")  # fmt: skip
PLACES = ("attic", "cellar", "stable", "boathouse", "chapel", "orchard", "mill", "tower")
FILLER = (
    "The wind turned to the {place} side again this morning.",
    "Did you sleep well after the long walk to the {place}?",
    "I would rather have soup than bread tonight, to be honest.",
    "Somebody left the gate near the {place} open, as always.",
    "There will be a dance in the village when the rain stops.",
)


def fill(sim: Simulation, dice: SeededRandom, lines: int) -> None:
    """Talk of this and that, over scenes and skips."""
    for number in range(lines):
        text = dice.choice(FILLER).format(place=dice.choice(PLACES))
        sim.say(f"{text} So I thought on day {number}.", dice.choice(("you", sim.ada)))
        if number % SCENE == SCENE - 1:
            if dice.happens(0.3):
                sim.worlds.skip_time(sim.id, TimeSkip(dice.choice((30, 2_000))), USER)
            sim.read()
            sim.next_scene()


def plant(sim: Simulation) -> dict[str, str]:
    """Robin tells Ada where each thing is; Ben does not hear it."""
    secrets: dict[str, str] = {}
    for number, thing in enumerate(THINGS[:CANARIES]):
        secrets[thing] = f"number-{1_000 + number}"
        text = f"I hid the {thing} of my grandmother in locker {secrets[thing]}."
        sim.say(text, "you", ("you", sim.ada))
    sim.next_scene()
    return secrets


def recalled(sim: Simulation, secrets: dict[str, str], who: str) -> int:
    """How many secrets a cue brings into someone's prompt."""
    found = 0
    for thing, secret in secrets.items():
        sim.say(f"Where did you say the {thing} of your grandmother is?", sim.ada)
        found += secret in sim.told(who)
    return found


@pytest.mark.parametrize(
    "lines",
    [50, 200, *(pytest.param(each, marks=pytest.mark.soak) for each in (1_000, 5_000))],
)
def test_a_cue_brings_back_what_was_said_long_ago(tmp_path: Path, lines: int) -> None:
    with simulation(tmp_path, reading=False) as sim:
        secrets = plant(sim)
        fill(sim, SeededRandom(lines), lines)
        assert recalled(sim, secrets, sim.ada) >= 0.95 * len(secrets)
        assert recalled(sim, secrets, sim.ben) == 0
