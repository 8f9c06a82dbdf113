"""Leaks: over random play, no prompt has a code word that its speaker did not witness."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.worlds.simulation import GUESTS, Simulation, codes, simulation

from everloop.app import USER
from everloop.testing.seeded_random import SeededRandom
from everloop.worlds import (
    NARRATOR,
    ChangePresence,
    CharacterSheet,
    CorrectWitnesses,
    JoinCast,
    LeaveCast,
    LoreEntry,
    PlanEvent,
    SetLoreEntry,
    SummariseScene,
    TimeSkip,
    find_story_message,
    world_stream,
)
from everloop.worlds.exchange.model.commands import ImportedMessage, ImportMessages

TURNS, SOAKED_TURNS = 60, 20_000
RESTART = 400  # turns of one world, in the long run


Known = dict[str, set[str]]  # code word to its witnesses


class Play:
    """Random play, with a record of who witnessed which code word."""

    def __init__(self, sim: Simulation, seed: int) -> None:
        self.sim, self.dice = sim, SeededRandom(seed)
        self.known: Known = {}
        self.said: list[str] = []
        self.moments: dict[str, tuple[Known, Known]] = {}  # what held before and after a line
        self.courses: dict[str, tuple[Known, list[str]]] = {}  # by branch that was left
        self.everyone = {sim.ada: "Ada", sim.ben: "Ben"}
        for name in GUESTS:
            self.everyone[sim.worlds.author(CharacterSheet(name, "A guest."), USER)] = name
        self.count = 0

    def code(self, witnesses: Iterable[str]) -> str:
        self.count += 1
        word = f"{self.dice.choice(('zephyr', 'quartz', 'cobalt', 'amber'))}-{self.count:05}"
        self.known[word] = set(witnesses)
        return word

    @property
    def present(self) -> tuple[str, ...]:
        scene = self.sim.world.scene
        return scene.present if scene else ()

    def step(self) -> None:
        """Something happens, some things more often than others."""
        ways = (
            (0.42, self.talk),
            (0.56, self.whisper),
            (0.66, self.move),
            (0.72, self.meet_again),
            (0.78, self.secret),
            (0.82, self.skip),
            (0.87, self.correct),
            (0.91, self.bring_in),
            (0.94, self.change_cast),
            (0.97, self.go_back),
            (1.0, self.switch),
        )
        roll = self.dice.random()
        next(way for upto, way in ways if roll < upto)()
        if self.sim.world.scene is None:
            self.sim.next_scene(self.some())
        self.sim.read()

    def some(self) -> tuple[str, ...]:
        people = self.sim.world.people
        chosen = tuple(who for who in people if self.dice.random() < 0.7)
        return chosen or people

    def said_now(self, message_id: str, before: Known) -> None:
        self.said.append(message_id)
        self.moments[message_id] = (before, dict(self.known))

    def talk(self) -> None:
        who, before = self.dice.choice(self.present), dict(self.known)
        text = f"I think of {self.code(self.present)} now."
        self.said_now(self.sim.say(text, who), before)
        others = [each for each in self.present if each != "you"]
        if others:
            speaker, before = self.dice.choice(others), dict(self.known)
            text = f'"Ah, {self.code(self.present)}," she said.'
            self.said_now(self.sim.reply(speaker, text), before)

    def whisper(self) -> None:
        who, to = self.dice.choice(self.present), self.dice.choice(self.present)
        pair, before = tuple({who: 0, to: 0}), dict(self.known)
        self.said_now(self.sim.say(f"Between us: {self.code(pair)} it is.", who, pair), before)

    def bring_in(self) -> None:
        """A line of an imported chat, with two versions, heard by some and maybe hidden."""
        who, heard, before = self.dice.choice(self.present), self.some_present(), dict(self.known)
        hidden, message_id = self.dice.happens(0.3), self.sim.new_id("i")
        texts = (
            f"Long ago it was {self.code(() if hidden else heard)}.",
            f"Never was it {self.code(())}.",
        )
        line = ImportedMessage(message_id, who, texts[0], heard, versions=texts, hidden=hidden)
        self.sim.engine.do(ImportMessages(self.sim.id, (line,)), by=USER)
        self.said_now(message_id, before)

    def some_present(self) -> tuple[str, ...]:
        return tuple(who for who in self.present if self.dice.happens(0.7)) or self.present

    def move(self) -> None:
        self.sim.do(ChangePresence(self.sim.id, self.some()))

    def meet_again(self) -> None:
        self.sim.next_scene(self.some(), "cafe")

    def skip(self) -> None:
        self.sim.worlds.skip_time(self.sim.id, TimeSkip(600), USER)
        self.sim.read()
        self.sim.next_scene(self.some())

    def change_cast(self) -> None:
        """A character leaves the story, and another one joins it or comes back."""
        leaves = self.dice.choice(sorted(self.sim.world.cast))
        self.sim.do(LeaveCast(self.sim.id, leaves, self.sim.new_id("s")))
        self.sim.read()
        world = self.sim.world
        joins = self.dice.choice([who for who in self.everyone if who not in world.cast])
        met = f"They met over {self.code((*world.people, joins))}."
        self.sim.do(JoinCast(self.sim.id, joins, self.everyone[joins], met))

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
            self.known[word] = set(kept)
        self.sim.read(everything=True)

    def go_back(self) -> None:
        """Go back before a recent line or to just after it; the story so far stays on a branch."""
        if len(self.said) < 4:
            return
        at = self.dice.choice(range(len(self.said) - 3, len(self.said)))
        before, after = self.moments[self.said[at]]
        self.leave()
        if self.dice.happens(0.5):
            self.sim.worlds.rewind(self.sim.id, self.said[at], USER)
            self.known, self.said = dict(before), self.said[:at]
        else:
            self.sim.worlds.branch_after(self.sim.id, self.said[at], USER)
            self.known, self.said = dict(after), self.said[: at + 1]
        self.sim.read(everything=True)

    def leave(self) -> None:
        """Note what holds on the branch that is left now."""
        self.courses[self.branch] = (self.known, self.said)

    def switch(self) -> None:
        """Go on with the story on a branch that was left."""
        others = sorted(self.courses.keys() - {self.branch})
        if not others:
            return
        self.leave()
        branch = self.dice.choice(others)
        self.known, self.said = self.courses[branch]
        self.sim.worlds.switch_branch(self.sim.id, branch, USER)
        self.sim.read(everything=True)

    @property
    def branch(self) -> str:
        return self.sim.engine.log.branches.current_branch_of(world_stream(self.sim.id)).name

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
                if scene and one.scene_id == scene.scene_id and one.reaches(who) and not one.hidden
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
