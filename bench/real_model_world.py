"""An evening in a world, played with a real language model: what it told, and what was read."""

import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

from everloop.app import USER, Engine
from everloop.errors import EverloopError
from everloop.log import Event
from everloop.model_settings import ModelSettings
from everloop.services import Services
from everloop.settings import Settings
from everloop.thread.settings import ThreadSettings
from everloop.turns.settings import TurnSettings
from everloop.usage.events import ModelCalled
from everloop.worlds import (
    ChangePresence,
    CharacterSheet,
    Line,
    Opening,
    Place,
    SetStyle,
    Style,
    TurnFailed,
    VersionRendered,
    WorldSettings,
    world_stream,
)

Figures = dict[str, Any]
SILENCE_S = 1_800.0
REPLY_TOKENS = 80
LINES = (  # what the player says, the kind of fact that follows from it, and a word in that fact
    ("Good evening, Ada. *I sit down at the table by the window.*", "activity_changed", "window"),
    ("Tomorrow at noon we hold a picnic by the lake. Will you come?", "event_planned", "picnic"),
    ("*I hand you the brass key.* Keep it safe for me.", "activity_changed", "key"),
    ("I am sorry that I shouted at you last week. You were right.", "edge_shifted", ""),
    ("Somebody has stolen my grandmother's letter, and I must find it.", "plot_opened", "letter"),
    ("It is late. Good night, Ada. *I leave the café and go home.*", "presence_changed", ""),
)
ENDS = (VersionRendered, TurnFailed)


def play_evening(models: ModelSettings, count: int) -> Figures:
    """Play so many lines, and count what was told well and what was read from it."""
    answer = TurnSettings(silence_s=SILENCE_S)
    worlds = WorldSettings(extraction_timeout_s=SILENCE_S, close_scenes="never", interjections=0)
    settings = Settings(models=models, thread=ThreadSettings(answer=answer), worlds=worlds)
    with tempfile.TemporaryDirectory() as folder, Engine.open(Path(folder), settings=settings) as e:
        running = Services(e, settings)
        running.turns.start()
        try:
            return _evening(running, count)
        finally:
            running.turns.stop()


def _evening(running: Services, count: int) -> Figures:
    engine, worlds = running.engine, running.engine.worlds
    ada = worlds.author(CharacterSheet("Ada", "A pilot, dry and warm, who keeps secrets."), USER)
    place = Place("cafe", "The café", "Small round tables.")
    opening = Opening("Evening", "Robin", "2026-05-01T18:00", place, (ada,))
    world_id = worlds.open(opening, USER)
    engine.do(SetStyle(world_id, Style(reply_tokens=REPLY_TOKENS)))
    figures: Figures = {"lines": 0, "replies": 0, "read_right": 0, "missed": [], "turn_s": []}
    figures["brought_back"] = 0
    upto = engine.log.head
    for text, kind, word in LINES[:count]:
        began, before = perf_counter(), engine.log.head
        figures["brought_back"] += _bring_back(engine, world_id, ada)
        done = worlds.say(world_id, Line(text), USER)
        reply = _ended(engine, done.turn_id)
        figures["lines"] += 1
        figures["replies"] += isinstance(reply, VersionRendered)
        upto = running.world_effects.catch_up(after=upto)
        figures["turn_s"].append(round(perf_counter() - began, 1))
        found = [one for one in _facts(engine, world_id, before) if one.wire.endswith(kind)]
        right = any(word in str(one).casefold() for one in found)
        figures["read_right"] += right
        if not right:
            figures["missed"].append(f"{kind} {word}".strip())
    figures["summaries"] = _close(running, world_id, upto)
    kinds = Counter(one.wire.partition(".")[2] for one in _facts(engine, world_id, 0))
    figures["facts"] = dict(kinds)
    figures["memories"] = len(worlds.memories.of(world_id, ada))
    calls = [fact.event for fact in engine.log.read("models")]
    spent = [one for one in calls if isinstance(one, ModelCalled) and one.purpose == "world"]
    read, cached = sum(one.tokens_in for one in spent), sum(one.tokens_cached for one in spent)
    figures["cached"] = round(cached / max(1, read), 3)
    return figures


def _bring_back(engine: Engine, world_id: str, who: str) -> bool:
    """Let a character enter again; whether it was read, wrongly, that they went away."""
    scene = engine.worlds.world(world_id).scene
    if scene is None or who in scene.present:
        return False
    engine.do(ChangePresence(world_id, ("you", who)))
    return True


def _close(running: Services, world_id: str, upto: int) -> int:
    """Close the scene; how many summaries were made."""
    before = running.engine.log.head
    try:
        running.engine.worlds.close_scene(world_id, USER)
    except EverloopError:
        return 0
    running.world_effects.catch_up(after=upto)
    facts = _facts(running.engine, world_id, before)
    return sum(one.wire.endswith("scene_summarised") for one in facts)


def _ended(engine: Engine, turn_id: str) -> Event:
    for fact in engine.follow(after=0):
        if isinstance(fact.event, ENDS) and fact.event.turn_id == turn_id:
            return fact.event
    raise RuntimeError("the log was closed")


def _facts(engine: Engine, world_id: str, after: int) -> list[Event]:
    found = engine.log.read(world_stream(world_id))
    return [fact.event for fact in found if fact.position > after]
