"""Leaks: over random play, no prompt has a code word that its speaker did not witness."""

from pathlib import Path

import pytest
from tests.worlds.simulation import Simulation, codes, simulation

from everloop.app import USER
from everloop.testing.seeded_random import SeededRandom
from everloop.worlds import (
    NARRATOR,
    ChangePresence,
    CorrectWitnesses,
    LoreEntry,
    PlanEvent,
    SetLoreEntry,
    SummariseScene,
    TimeSkip,
    find_story_message,
)

TURNS, SOAKED_TURNS = 60, 20_000
RESTART = 400  # turns of one world, in the long run


class Play:
    """Random play, with a record of who witnessed which code word."""

    def __init__(self, sim: Simulation, seed: int) -> None:
        self.sim, self.dice = sim, SeededRandom(seed)
        self.known: dict[str, set[str]] = {}  # code word to its witnesses
        self.corrected: list[tuple[int, str, set[str]]] = []  # after so many lines; what held
        self.said: list[str] = []
        self.count = 0

    def code(self, witnesses: tuple[str, ...]) -> str:
        self.count += 1
        word = f"{self.dice.choice(('zephyr', 'quartz', 'cobalt', 'amber'))}-{self.count:05}"
        self.known[word] = set(witnesses)
        return word

    @property
    def present(self) -> tuple[str, ...]:
        scene = self.sim.world.scene
        return scene.present if scene else ()

    def step(self) -> None:
        roll = self.dice.random()
        if roll < 0.45:
            self.talk()
        elif roll < 0.6:
            self.whisper()
        elif roll < 0.72:
            self.move()
        elif roll < 0.78:
            self.sim.next_scene(self.some(), self.dice.choice(("cafe", "cafe")))
        elif roll < 0.84:
            self.secret()
        elif roll < 0.88:
            self.sim.worlds.skip_time(self.sim.id, TimeSkip(600), USER)
            self.sim.read()
            self.sim.next_scene(self.some())
        elif roll < 0.94:
            self.correct()
        else:
            self.undo()
        self.sim.read()

    def some(self) -> tuple[str, ...]:
        people = self.sim.world.people
        chosen = tuple(who for who in people if self.dice.random() < 0.7)
        return chosen or people

    def talk(self) -> None:
        who = self.dice.choice(self.present)
        self.said.append(self.sim.say(f"I think of {self.code(self.present)} now.", who))
        others = [each for each in self.present if each != "you"]
        if others:
            speaker = self.dice.choice(others)
            word = self.code(self.present)
            self.said.append(self.sim.reply(speaker, f'"Ah, {word}," she said.'))

    def whisper(self) -> None:
        who = self.dice.choice(self.present)
        to = self.dice.choice(self.present)
        pair = tuple({who, to})
        self.said.append(self.sim.say(f"Between us: {self.code(pair)} it is.", who, pair))

    def move(self) -> None:
        self.sim.do(ChangePresence(self.sim.id, self.some()))

    def secret(self) -> None:
        """Lore and plans that only some know."""
        know = self.some()
        entry = LoreEntry(
            self.sim.new_id("l"), f"The {self.code(know)} rule.", keys=("think",), audience=know
        )
        self.sim.do(SetLoreEntry(self.sim.id, entry))
        plan = PlanEvent(
            self.sim.id, self.sim.new_id("e"), f"The {self.code(know)} feast", known_to=know
        )
        self.sim.do(plan)

    def correct(self) -> None:
        """The player says who really witnessed a line; what was made of it is made again."""
        if not self.said:
            return
        message_id = self.dice.choice(self.said[-6:])
        with self.sim.engine.reading() as reader:
            message = find_story_message(reader, self.sim.id, message_id)
        kept = tuple(who for who in message.witnesses if self.dice.random() < 0.6)
        if not kept:
            return
        self.sim.worlds.correct_witnesses(CorrectWitnesses(self.sim.id, message_id, kept), USER)
        for word in codes(message.text):
            self.corrected.append((len(self.said), word, self.known[word]))
            self.known[word] = set(kept)
        self.sim.read(everything=True)

    def undo(self) -> None:
        """Go back before a recent line; what was said and corrected since is undone."""
        if len(self.said) < 4:
            return
        at = self.dice.choice(range(len(self.said) - 3, len(self.said)))
        while self.corrected and self.corrected[-1][0] > at:
            _, word, before = self.corrected.pop()
            self.known[word] = before
        with self.sim.engine.reading() as reader:
            for message_id in self.said[at:]:
                found = find_story_message(reader, self.sim.id, message_id)
                for word in codes(found.text):
                    self.known[word] = set()
        self.sim.worlds.rewind(self.sim.id, self.said[at], USER)
        del self.said[at:]
        self.sim.read(everything=True)
        if self.sim.world.scene is None:
            self.sim.next_scene(self.some())

    def leaks(self) -> list[str]:
        found: list[str] = []
        for who, text in self.sim.all_told().items():
            found += [f"{word} to {who}" for word in codes(text) if not self.knows({who}, word)]
        if self.present:
            everyone = set(self.present)
            told = codes(self.sim.told(NARRATOR))
            found += [f"{word} to all" for word in told if not self.knows(everyone, word)]
        return found

    def knows(self, viewers: set[str], word: str) -> bool:
        """Whether they witnessed a code word; of one cut off, whether they did any it may be."""
        return any(viewers <= self.known[one] for one in self.known if one.startswith(word))

    def missing(self) -> tuple[int, int]:
        """How many of the newest witnessed lines are missing, of how many."""
        lost = total = 0
        for who, text in self.sim.all_told().items():
            with self.sim.engine.reading() as reader:
                recent = [find_story_message(reader, self.sim.id, one) for one in self.said[-4:]]
            scene = self.sim.world.scene
            seen = [
                one
                for one in recent
                if scene and one.scene_id == scene.scene_id and one.reaches(who)
            ]
            total += len(seen)
            lost += sum(not codes(one.text) <= codes(text) for one in seen)
        return lost, total


@pytest.mark.promise("P-WORLD-1")
@pytest.mark.parametrize("seed", [1, 2, 502])
def test_no_prompt_tells_what_its_speaker_did_not_witness(
    tmp_path: Path, seed: int, soaking: bool
) -> None:
    turns = SOAKED_TURNS if soaking else TURNS
    lost = total = 0
    for start in range(0, turns, RESTART):
        with simulation(tmp_path / f"{start}") as sim:
            play = Play(sim, seed + start)
            for _ in range(min(RESTART, turns - start)):
                play.step()
                assert play.leaks() == []
                missing, seen = play.missing()
                lost, total = lost + missing, total + seen
    assert total
    assert lost <= total * 0.01


def test_the_check_finds_a_leak(tmp_path: Path) -> None:
    with simulation(tmp_path) as sim:
        play = Play(sim, 1)
        word = play.code(("you", sim.ada))
        scene = sim.world.scene
        assert scene
        sim.worlds.close_scene(sim.id, USER)
        sim.do(SummariseScene(sim.id, scene.scene_id, sim.ben, f"About {word}."))
        sim.next_scene()
        assert play.leaks() == [f"{word} to {sim.ben}"]
