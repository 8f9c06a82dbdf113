"""A world with a long history, and how long our own part of a turn in it takes."""

from itertools import count
from pathlib import Path
from time import process_time

import msgspec

from bench.comparison import require
from everloop.app import ENGINE, USER, Engine
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.worlds import (
    CharacterSheet,
    CloseScene,
    Line,
    Opening,
    OpenScene,
    Place,
    Readings,
    SceneEffects,
    SummariseScene,
    TurnEffects,
    WorldEffectsTask,
    WorldSettings,
    WorldTurns,
    story_messages,
)
from everloop.worlds.exchange.model.commands import ImportedMessage, ImportMessages
from everloop.worlds.model.checks import require_scene
from everloop.worlds.witness_memory import memory_id, new_memory

SCENE_TURNS = 40
CLOCK = "2026-05-01T18:00:00+00:00"
WORDS = ("harbour", "lamp", "letter", "captain", "storm", "bread", "garden", "window", "silver")
REPLY = '"Yes, the storm was long," she said. *She sits down.*'


class TurnTime(msgspec.Struct, frozen=True):
    """Our own time in a turn: until the model is called, and after its text has come."""

    before_ms: float
    after_ms: float


class LongWorld:
    """A world with Ada and Ben and so many turns, each with a memory of it."""

    def __init__(self, folder: Path, turns: int) -> None:
        rules = WorldSettings(extraction="rules")
        settings = Settings(memory=MemorySettings(embedder="none"), worlds=rules)
        self.engine = Engine.open(folder, settings=settings)
        self.worlds, log = self.engine.worlds, self.engine.log
        self.ada = self.worlds.author(CharacterSheet("Ada", "A pilot."), USER)
        self.ben = self.worlds.author(CharacterSheet("Ben", "A sailor."), USER)
        self.people = ("you", self.ada, self.ben)
        place = Place("cafe", "The café")
        self.id = self.worlds.open(
            Opening("Long", "Robin", CLOCK, place, (self.ada, self.ben)), USER
        )
        for first in range(0, turns, SCENE_TURNS):
            self._scene(first, min(SCENE_TURNS, turns - first), last=first + SCENE_TURNS >= turns)
        parts = (log, self.engine, Readings(lambda: None, rules), self.worlds.memories, rules)
        self._effects = WorldEffectsTask(log, TurnEffects(*parts), SceneEffects(*parts))
        self._turns = WorldTurns(log, self.engine, log.ids, self.worlds.prompts, self.engine.usage)
        self._upto = log.head
        self._number = count()

    def turn(self) -> TurnTime:
        """Play a turn up to the call of a model, and from its reply to all that follows."""
        number = next(self._number)
        word = WORDS[number % len(WORDS)]
        start = process_time()
        self.worlds.say(self.id, Line(f"Tell me of the {word} and the storm {number}."), USER)
        branch = self._turns.current_branch(self.id) or ""
        turn = self._turns.next_turn(self.id, branch, lambda _: False)
        if turn is None:
            raise RuntimeError("the measure is wrong: no turn waits")
        turn.prepare()
        require(turn.begin("bench"), "the turn was not claimed")
        called = process_time()
        turn.begin_streaming()
        turn.finish(REPLY, "bench", "stop")
        self._upto = self._effects.catch_up(after=self._upto)
        return TurnTime(1_000 * (called - start), 1_000 * (process_time() - called))

    def rewind_ms(self, back: int) -> float:
        """Go back by some messages and make a prompt."""
        with self.engine.reading() as reader:
            found = story_messages(reader, self.id, limit=back)
        start = process_time()
        self.worlds.rewind(self.id, found[0].message_id, USER)
        self.worlds.prompts.build(self.id, self.ada)
        return 1_000 * (process_time() - start)

    def close(self) -> None:
        """Close the log."""
        self.engine.close()

    def _scene(self, first: int, turns: int, *, last: bool) -> None:
        scene = require_scene(self.worlds.world(self.id))
        said = [message for turn in range(first, first + turns) for message in self._lines(turn)]
        imported = self.engine.do(ImportMessages(self.id, tuple(said)), by=USER)
        items = [
            new_memory(
                self.id,
                memory_id(f"itm-{one.message_id}", one.message_id),
                one.text,
                kind="line",
                witnesses=self.people,
                clock=CLOCK,
                scene_id=scene.scene_id,
                because=(imported.position,),
            )
            for one in said[1::2]
        ]
        self.engine.do_many(items, by=ENGINE)
        if not last:
            told = f"They talked about the {WORDS[first % len(WORDS)]} of turn {first}."
            sums = (SummariseScene(self.id, scene.scene_id, who, told) for who in self.people)
            close = CloseScene(self.id, scene.scene_id, "")
            begin = OpenScene(self.id, f"scn-{first}", "cafe", self.people)
            self.engine.do_many([close, *sums, begin], by=ENGINE)

    def _lines(self, turn: int) -> tuple[ImportedMessage, ImportedMessage]:
        line, reply = _text(2 * turn), _text(2 * turn + 1)
        who = self.ada if turn % 2 else self.ben
        return (
            ImportedMessage(f"m{turn}", "you", line, self.people),
            ImportedMessage(f"r{turn}", who, reply, self.people, versions=(reply,)),
        )


def _text(number: int) -> str:
    one, other = WORDS[number % len(WORDS)], WORDS[number * 7 % len(WORDS)]
    return f'"The {one} and the {other} of day {number}," said number {number}, "are no secret."'
