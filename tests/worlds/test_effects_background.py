"""The background task of worlds: a retraction or rewind is looked at where it touches a world."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.worlds.simulation import Simulation
from tests.worlds.stage import RULES

from everloop.app import USER, Engine
from everloop.log import Fact
from everloop.testing.deterministic import DeterministicPorts
from everloop.thread.model.commands import OpenThread, RenameThread
from everloop.worlds import Readings, SceneEffects, TurnEffects, WorldEffectsTask, timeline


class WatchedScenes(SceneEffects):
    """Notes of which worlds closed scenes are checked."""

    worlds: set[str]

    def sum_up(self, world_id: str, scene_id: str) -> int:
        self.worlds.add(world_id)
        return super().sum_up(world_id, scene_id)


class TwoWorlds:
    """Two worlds with a closed scene each, and the task that makes their summaries."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.one, self.other = (Simulation(engine, reading=False) for _ in range(2))
        self.other.number = 100  # ids of messages differ between worlds
        service = engine.worlds
        readings = Readings(lambda: None, RULES.worlds)
        parts = (engine.log, engine, readings, service.memories, RULES.worlds)
        self.scenes = WatchedScenes(*parts)
        self.scenes.worlds = set()
        self.task = WorldEffectsTask(engine.log, TurnEffects(*parts), self.scenes)
        for world in (self.one, self.other):
            world.say("We all love the amber lamp.")
            service.close_scene(world.id, USER)
        self.upto = self.task.catch_up()

    def checked(self) -> set[str]:
        """The worlds whose scenes are checked because of the facts since the last call."""
        self.scenes.worlds = set()
        head = self.engine.log.head
        for fact in self.facts(self.upto):
            self.task.react(fact, head)
        self.upto = self.engine.log.head
        return self.scenes.worlds

    def facts(self, after: int) -> list[Fact]:
        head = self.engine.log.head
        found = list[Fact]()
        for fact in self.engine.follow(after=after):
            found.append(fact)
            if fact.position == head:
                break
        return found

    def summaries(self, world: Simulation) -> list[int]:
        with self.engine.reading() as reader:
            found = timeline(reader, world.id, ("scene_summarised",))
        return [one.position for one in found]


@contextmanager
def two_worlds(folder: Path) -> Generator[TwoWorlds]:
    with Engine.open(folder, settings=RULES, ports=DeterministicPorts().ports) as engine:
        yield TwoWorlds(engine)


def test_a_retraction_is_looked_at_in_the_world_that_it_touches(tmp_path: Path) -> None:
    with two_worlds(tmp_path) as both:
        before = both.summaries(both.one)
        receipt = both.engine.log.retract([before[0]], reason="slip", actor="user")
        assert len(both.summaries(both.one)) == len(before) - 1
        assert both.checked() == {both.one.id}
        assert len(both.summaries(both.one)) == len(before)
        both.engine.log.retract([receipt.position], reason="undo", actor="user")
        assert both.checked() == {both.one.id}


def test_a_retracted_memory_leads_to_the_world_that_it_came_from(tmp_path: Path) -> None:
    with two_worlds(tmp_path) as both:
        memory = both.engine.worlds.memories.of(both.other.id)[0]
        both.engine.log.retract([memory.position], reason="slip", actor="user")
        assert both.checked() == {both.other.id}


def test_a_rewind_is_looked_at_in_its_world_and_that_of_a_thread_in_none(tmp_path: Path) -> None:
    with two_worlds(tmp_path) as both:
        log, tree = both.engine.log, "thread:t"
        log.rewind(log.head, tree=f"world:{both.other.id}", actor="user")
        assert both.checked() == {both.other.id}
        log.create_tree(tree, actor="user")
        opened = both.engine.do(OpenThread("t", "A talk")).position
        renamed = both.engine.do(RenameThread("t", "Another")).position
        log.retract([renamed], reason="slip", actor="user")
        log.rewind(opened, tree=tree, actor="user")
        assert both.checked() == set()


def test_a_rewind_of_the_main_branch_is_looked_at_in_every_world(tmp_path: Path) -> None:
    with two_worlds(tmp_path) as both:
        both.engine.log.rewind(both.engine.log.head, actor="user")
        assert both.checked() == {both.one.id, both.other.id}
