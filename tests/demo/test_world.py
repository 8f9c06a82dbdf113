"""The world of the demo: twelve scenes whose relationships change, and a picnic that is over."""

from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from everloop.app import Engine
from everloop.demo.world import load_world
from everloop.worlds import course_of, edges_of, relationship_history, story_messages

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Engine, str]]:
    folder: Path = tmp_path_factory.mktemp("demo")
    with Engine.open(folder) as engine:
        yield engine, load_world(engine, NOW)


def test_the_demo_has_twelve_scenes_up_to_now(played: tuple[Engine, str]) -> None:
    engine, world_id = played
    world = engine.worlds.world(world_id)
    with engine.reading() as reader:
        scenes = course_of(reader, world_id, world).scenes
        messages = story_messages(reader, world_id, limit=1_000)
    assert [scene.number for scene in scenes] == list(range(1, 13))
    assert sorted(world.cast.values()) == ["Ada", "Ben"]
    assert scenes[-1].is_open
    assert world.clock == "2026-11-16T18:00:00+00:00"
    assert len(messages) > 36


def test_the_picnic_is_over_and_only_the_whistle_is_left(played: tuple[Engine, str]) -> None:
    engine, world_id = played
    world = engine.worlds.world(world_id)
    assert world.ended_events == {"picnic": "completed"}
    assert not world.props
    ada = next(who for who, name in world.cast.items() if name == "Ada")
    assert world.belongings == {ada: ("tin whistle",)}


def test_relationships_differ_between_the_first_and_the_last_scene(
    played: tuple[Engine, str],
) -> None:
    engine, world_id = played
    world = engine.worlds.world(world_id)
    with engine.reading() as reader:
        history = relationship_history(reader, world_id)
    now = edges_of(world)
    assert history[-1].edges == now
    assert history[0].edges != now
    ada = next(who for who, name in world.cast.items() if name == "Ada")
    assert now[f"{ada}>you"].affinity >= 20


def test_the_debt_is_not_known_to_the_player(played: tuple[Engine, str]) -> None:
    engine, world_id = played
    with engine.reading() as reader:
        told = [
            one for one in story_messages(reader, world_id, limit=1_000) if "ferry in" in one.text
        ]
    assert [("you" in one.witnesses) for one in told] == [False]
