"""A world that is played on a running engine, with scripted models."""

import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from everloop.app import ENGINE, USER, Engine
from everloop.log import Command
from everloop.memory.settings import MemorySettings
from everloop.ports import Prompt, Text
from everloop.services import Services
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.model import Script, ScriptedModel
from everloop.worlds import (
    CharacterSheet,
    Line,
    Opening,
    Place,
    Readings,
    RequestedReply,
    SceneEffects,
    StoryMessage,
    TurnEffects,
    TurnFailed,
    TurnLeftUncertain,
    TurnStreaming,
    VersionRendered,
    World,
    WorldEffectsTask,
    WorldPrompt,
    WorldSettings,
    story_messages,
)

RULES = Settings(memory=MemorySettings(embedder="none"), worlds=WorldSettings(extraction="rules"))
CAFE = Place("cafe", "The café", "Small round tables.")
ENDS = (VersionRendered, TurnFailed, TurnLeftUncertain)


class Stage:
    """A world with Ada and Ben at a café, where Robin plays."""

    def __init__(self, running: Services, model: ScriptedModel | None) -> None:
        self.running, self.model = running, model
        self.engine = running.engine
        self.worlds = self.engine.worlds
        self.ada = self.worlds.author(CharacterSheet("Ada", "A pilot."), USER)
        self.ben = self.worlds.author(CharacterSheet("Ben", "A sailor."), USER)
        cast = (self.ada, self.ben)
        opening = Opening("Evening", "Robin", "2026-05-01T18:00", CAFE, cast)
        self.id = self.worlds.open(opening, USER)

    @property
    def world(self) -> World:
        return self.worlds.world(self.id)

    @property
    def messages(self) -> list[StoryMessage]:
        with self.engine.reading() as reader:
            return story_messages(reader, self.id, limit=500)

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]

    def say(self, text: str, **options: object) -> StoryMessage:
        """Write a line and wait for the reply."""
        requested = self.worlds.say(self.id, Line(text, **options), USER)  # type: ignore[arg-type]
        return self.wait(requested)

    def wait(self, requested: RequestedReply) -> StoryMessage:
        """Wait for the end of a turn and return its message."""
        self.until_ended(requested.turn_id)
        found = [one for one in self.messages if one.message_id == requested.message_id]
        return found[0] if found else self.messages[-1]

    def until_ended(self, turn_id: str) -> None:
        for fact in self.engine.follow(after=0):
            if isinstance(fact.event, ENDS) and fact.event.turn_id == turn_id:
                return

    def until_streaming(self, turn_id: str) -> None:
        for fact in self.engine.follow(after=0):
            if isinstance(fact.event, TurnStreaming) and fact.event.turn_id == turn_id:
                return

    def effects(self, *readings: Script | Mapping[str, object]) -> WorldEffectsTask:
        """What makes the effects of play, with a model that reads these, or with rules alone."""
        texts = [json.dumps(one) if isinstance(one, Mapping) else one for one in readings]
        self.reader = ScriptedModel(texts, name="reader")
        found = msgspec.structs.replace(self.worlds.settings, extraction="model")
        settings = found if readings else self.worlds.settings
        parts = (
            self.engine.log,
            self.engine,
            Readings(lambda: self.reader, settings),
            self.worlds.memories,
            settings,
        )
        self.turn_effects = TurnEffects(*parts)
        return WorldEffectsTask(self.engine.log, self.turn_effects, SceneEffects(*parts))

    def read(self, *readings: Script | Mapping[str, object]) -> None:
        """Make the effects of all that was played."""
        self.effects(*readings).catch_up()

    def do(self, command: Command) -> int:
        return self.engine.do(command, by=ENGINE).position

    def prompt(self, who: str) -> WorldPrompt:
        return self.worlds.prompts.build(self.id, who)

    def told(self, who: str) -> str:
        """All that a speaker's prompt says now."""
        return whole(self.prompt(who).prompt)


def whole(prompt: Prompt) -> str:
    """Everything that a model is sent."""
    parts = [part for message in prompt.messages for part in message.parts]
    return "\n".join([prompt.system, *(one.text for one in parts if isinstance(one, Text))])


@contextmanager
def stage(
    folder: Path, answers: Iterable[Script] | None = (), *, settings: Settings = RULES
) -> Generator[Stage]:
    """A world whose turns run; nothing else runs in the background. None: no model at all."""
    model = None if answers is None else ScriptedModel(answers)
    with Engine.open(folder, settings=settings, ports=DeterministicPorts().ports) as engine:
        running = Services(engine, settings, model)
        running.turns.start()
        try:
            yield Stage(running, model)
        finally:
            running.turns.stop()
