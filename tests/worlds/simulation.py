"""Play without threads and waiting: turns are recorded at once, and a fake model reads them.

The fake model repeats every code word that it is shown in everything it answers. So if anyone is
told of something that they did not witness, a code word in their prompt shows it.
"""

import json
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from tests.worlds.stage import RULES, whole

from everloop.app import ENGINE, USER, Engine
from everloop.log import Command
from everloop.ports import Chunk, Delta, Finish, Params, Prompt, Stream, Text, Usage
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.model import ScriptedStream
from everloop.worlds import (
    BeginSending,
    CharacterSheet,
    FinishTurn,
    Opening,
    OpenScene,
    Place,
    Readings,
    RecordTurn,
    SceneEffects,
    TurnEffects,
    World,
    WorldEffectsTask,
    WriteMessage,
    parse_message,
)

CODE = re.compile(r"\b[a-z]+-\d+\b")
GUESTS = ("Cleo", "Dan")
PEOPLE = ("Robin", "Ada", "Ben", *GUESTS)
CAFE, PIER = Place("cafe", "The café"), Place("pier", "The pier")


def codes(text: str) -> set[str]:
    """The code words of a text."""
    return set(CODE.findall(text))


class EchoingModel:
    """Reads a turn or a scene by repeating every code word in it."""

    name = "echo"

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """An answer that fits the schema and has every code word that was shown."""
        del params
        shown = " ".join(p.text for m in prompt.messages for p in m.parts if isinstance(p, Text))
        found = sorted(codes(shown.rpartition("Newest:")[2]))
        properties = (prompt.schema or {}).get("properties", {})
        words = f"It was about {', '.join(found)}." if found else ""
        answer: dict[str, object] = {}
        if "gist" in properties:
            answer = {
                "gist": words,
                "plots": [{"title": words, "change": "opened", "summary": words}] if found else [],
                "feelings": [
                    {"source": one, "target": other, "affinity": len(found) % 5, "why": words}
                    for one in PEOPLE[1:]
                    for other in PEOPLE
                    if one != other
                ],
            }
        elif "relationships" in properties:
            answer = {
                "summary": words or "Little happened.",
                "learned": [words] if found else [],
                "relationships": [
                    {"target": name, "summary": words, "facts": [words] if found else []}
                    for name in PEOPLE
                ],
            }
        elif "text" in properties:
            answer = {"text": words or "Little happened."}
        chunks: list[Chunk] = [Delta(json.dumps(answer)), Usage("echo", 0, 0), Finish("stop")]
        return ScriptedStream(chunks)


class Simulation:
    """A world with Ada and Ben that is played without a renderer."""

    def __init__(self, engine: Engine, *, reading: bool = True) -> None:
        self.engine, self.worlds = engine, engine.worlds
        self.ada = self.worlds.author(CharacterSheet("Ada", "A pilot."), USER)
        self.ben = self.worlds.author(CharacterSheet("Ben", "A sailor."), USER)
        cast = (self.ada, self.ben)
        self.id = self.worlds.open(
            Opening("Evening", "Robin", "2026-05-01T18:00", CAFE, cast), USER
        )
        model = EchoingModel() if reading else None
        settings = RULES.worlds if not reading else type(RULES.worlds)(close_scenes="never")
        parts = (
            engine.log,
            engine,
            Readings(lambda: model, settings),
            self.worlds.memories,
            settings,
        )
        self.effects = WorldEffectsTask(engine.log, TurnEffects(*parts), SceneEffects(*parts))
        self.upto = 0
        self.number = 0

    @property
    def world(self) -> World:
        return self.worlds.world(self.id)

    def do(self, command: Command) -> int:
        return self.engine.do(command, by=ENGINE).position

    def new_id(self, kind: str) -> str:
        self.number += 1
        return f"{kind}{self.number}"

    def say(self, text: str, speaker: str = "you", witnesses: Iterable[str] = ()) -> str:
        """Someone says something, in words that a person wrote."""
        message_id = self.new_id("m")
        passages = parse_message(text)
        self.do(WriteMessage(self.id, message_id, speaker, text, passages, "", tuple(witnesses)))
        return message_id

    def reply(self, who: str, text: str, message_id: str = "", turn_id: str = "") -> str:
        """A reply, as a model would give it."""
        message_id = message_id or self.new_id("r")
        if not turn_id:
            turn_id = self.new_id("t")
            self.do(RecordTurn(self.id, turn_id, message_id, who))
        self.do(BeginSending(self.id, turn_id, self.new_id("v"), "model", "ctx", "here"))
        self.do(FinishTurn(self.id, turn_id, text, "model", passages=parse_message(text)))
        return message_id

    def read(self, *, everything: bool = False) -> None:
        """Make what follows from all that was played."""
        self.upto = self.effects.catch_up(after=0 if everything else self.upto)

    def next_scene(self, present: Iterable[str] = (), place: str = "cafe") -> None:
        """Close the scene and open another."""
        if self.world.scene is not None:
            self.worlds.close_scene(self.id, USER)
            self.read()
        people = tuple(present) or self.world.people
        self.do(OpenScene(self.id, self.new_id("s"), place, people))

    def told(self, who: str) -> str:
        """All that a speaker's prompt says now."""
        return whole(self.worlds.prompts.build(self.id, who).prompt)

    def all_told(self) -> dict[str, str]:
        """What everyone present would be told now."""
        scene = self.world.scene
        return {who: self.told(who) for who in (scene.present if scene else ())}


@contextmanager
def simulation(folder: Path, *, reading: bool = True) -> Generator[Simulation]:
    """A world that is played without a renderer."""
    with Engine.open(folder, settings=RULES, ports=DeterministicPorts().ports) as engine:
        yield Simulation(engine, reading=reading)
