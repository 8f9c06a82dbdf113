"""Decay: with a renderer that copies from its prompt, prompts neither grow nor fill with copies."""

import itertools
from collections import Counter
from pathlib import Path

from tests.worlds.simulation import Simulation, simulation

from everloop.memory.token_counts import estimate_tokens
from everloop.testing.seeded_random import SeededRandom
from everloop.worlds import WorldPrompt

TURNS, SOAKED_TURNS = 150, 5_000
EARLY = 50
SCENE = 60  # turns of a scene
WORDS = [
    "harbour",
    "lantern",
    "copper",
    "velvet",
    "thunder",
    "orchard",
    "willow",
    "ember",
    "granite",
    "saffron",
    "meadow",
    "raven",
    "timber",
    "silver",
    "hollow",
    "marble",
    "cinder",
    "juniper",
    "copper",
    "falcon",
    "tide",
    "ribbon",
    "anchor",
    "maple",
]


def copied(prompt: WorldPrompt, who: str, dice: SeededRandom) -> str:
    """A reply that repeats a line of the speaker's own, and adds a few words."""
    own = [one.text for one in prompt.fitted.kept if one.kind == "dialogue" and one.speaker == who]
    new = " ".join(dice.choice(WORDS) for _ in range(30))
    return f"{dice.choice(own)[:200]} {new}." if own else f"{new}."


def own_tokens(prompt: WorldPrompt, who: str) -> int:
    kept = (one for one in prompt.fitted.kept if one.kind == "dialogue" and one.speaker == who)
    return sum(one.tokens for one in kept)


def repeated_share(prompt: WorldPrompt) -> float:
    """The share of sequences of four words in the prompt that are there more than once."""
    words = " ".join(one.text for one in prompt.fitted.kept).split()
    grams = Counter(zip(words, words[1:], words[2:], words[3:], strict=False))
    total = sum(grams.values())
    return sum(count for count in grams.values() if count > 1) / total if total else 0.0


def play(sim: Simulation, dice: SeededRandom, turn: int) -> WorldPrompt:
    sim.say(f"Tell me of the {dice.choice(WORDS)} and the {dice.choice(WORDS)}, turn {turn}.")
    prompt = sim.worlds.prompts.build(sim.id, sim.ada)
    sim.reply(sim.ada, copied(prompt, sim.ada, dice))
    sim.read()
    if turn % SCENE == SCENE - 1:
        sim.next_scene()
    return prompt


def test_prompts_stay_as_long_and_as_varied_as_they_were(tmp_path: Path, soaking: bool) -> None:
    turns, dice = (SOAKED_TURNS if soaking else TURNS), SeededRandom(7)
    with simulation(tmp_path, reading=False) as sim:
        prompts = [play(sim, dice, turn) for turn in range(turns)]
        soft, share = sim.worlds.settings.context_soft, sim.world.style.own_prose_share
        assert all(own_tokens(one, sim.ada) <= share * soft for one in prompts)
        ends = range(EARLY, turns, SCENE)  # the same turn of each scene
        tokens = [prompts[turn].fitted.tokens for turn in ends]
        assert max(tokens) <= 1.1 * tokens[0]
        shares = [repeated_share(prompts[turn]) for turn in ends]
        assert shares[-1] <= shares[0] + 0.05
        texts = [one.text for one in sim.worlds.memories.of(sim.id, limit=500)]
        assert not any("Ada:" in text for text in texts)
        assert estimate_tokens(prompts[-1].prompt.system) < soft


def test_prompts_of_one_scene_begin_the_same_way(tmp_path: Path) -> None:
    with simulation(tmp_path, reading=False) as sim:
        dice = SeededRandom(3)
        prompts = [play(sim, dice, turn).prompt for turn in range(45)]
        assert len({one.system for one in prompts}) == 1
        same = sum(
            later.messages[: len(earlier.messages) - 1] == earlier.messages[:-1]
            for earlier, later in itertools.pairwise(prompts)
        )
        assert same >= 0.85 * (len(prompts) - 1)
