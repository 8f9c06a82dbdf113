"""A whole world goes out and comes in with all its branches, and each folds as it did."""

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import SOAKING
from tests.worlds.simulation import Simulation, simulation
from tests.worlds.stage import RULES, whole

from everloop.app import USER, Engine
from everloop.errors import Forbidden, Invalid, NotFound
from everloop.log import Command, Context, DecisionContext, Draft, Receipt
from everloop.testing.deterministic import DeterministicPorts
from everloop.worlds import (
    NARRATOR,
    CompleteEvent,
    LoreEntry,
    PlanEvent,
    RemoveLoreEntry,
    SetLoreEntry,
    StartEvent,
    StoryMessage,
    WorldImportResult,
    list_characters,
    list_worlds,
    lore_entries,
    story_messages,
    world_branches,
)
from everloop.worlds.exchange.card_import import ExchangePorts
from everloop.worlds.exchange.model.commands import ReplayLore
from everloop.worlds.exchange.model.decide import replay_lore
from everloop.worlds.exchange.service import ExchangeService
from everloop.worlds.exchange.settings import ExchangeLimits
from everloop.worlds.model.story_events import LoreEntrySet

STEPS = ("talk", "whisper", "swipe", "hide", "edit", "retract", "scene", "lore", "event", "pin")
MOVES = ("rewind", "branch", "back")
EXAMPLES = 100 if SOAKING else 3
OLD = Path(__file__).parents[2] / "golden" / "world-export-1.json"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
POSITIONS = {"position", "chosen_at", "because"}


class Teller:
    """Plays a story with forks in it."""

    def __init__(self, sim: Simulation) -> None:
        self.sim, self.count = sim, 0

    @property
    def said(self) -> list[StoryMessage]:
        with self.sim.engine.reading() as reader:
            return story_messages(reader, self.sim.id, limit=200)

    def run(self, steps: list[str]) -> None:
        for step in steps:
            self.count += 1
            getattr(self, step)()
            self.sim.read(everything=True)
            if self.sim.world.scene is None:
                self.sim.next_scene()

    def talk(self) -> None:
        self.sim.say(f"Let us talk about jade-{self.count} for a while.")
        self.sim.reply(self.sim.ada, f'"Yes, amber-{self.count}," came the answer.')

    def whisper(self) -> None:
        text = f"Just for us: onyx-{self.count} is true."
        self.sim.say(text, "you", ("you", self.sim.ben))

    def swipe(self) -> None:
        self.talk()
        self.sim.read()
        reply = self.said[-1].message_id
        turn = self.sim.worlds.request_version(self.sim.id, reply, "", USER)
        self.sim.reply(self.sim.ada, f'"No, ruby-{self.count}," she said.', reply, turn)

    def hide(self) -> None:
        self.on_a_line(lambda line: self.sim.worlds.hide(self.sim.id, line, USER))

    def edit(self) -> None:
        text = f"I never meant opal-{self.count} at all."
        self.on_a_line(lambda line: self.sim.worlds.edit(self.sim.id, line, text, USER))

    def retract(self) -> None:
        self.on_a_line(lambda line: self.sim.worlds.retract_message(self.sim.id, line, "no", USER))

    def scene(self) -> None:
        self.sim.next_scene()

    def lore(self) -> None:
        entry = LoreEntry("own", f"The pearl-{self.count} rule.", keys=("talk",))
        self.sim.do(SetLoreEntry(self.sim.id, entry))
        if self.count % 3 == 0:
            self.sim.do(RemoveLoreEntry(self.sim.id, "own"))

    def event(self) -> None:
        event_id = self.sim.new_id("e")
        self.sim.do(PlanEvent(self.sim.id, event_id, f"Feast {self.count}"))
        self.sim.do(StartEvent(self.sim.id, event_id))
        self.sim.do(CompleteEvent(self.sim.id, event_id, f"They ate topaz-{self.count}."))

    def pin(self) -> None:
        memories = self.sim.worlds.memories
        for one in memories.listed(self.sim.id)[:1]:
            memories.rate_in(self.sim.id, [one.item_id], self.count % 4, USER)
            memories.pin(self.sim.id, one.item_id, USER, pinned=self.count % 2 == 0)

    def rewind(self) -> None:
        self.on_a_line(lambda line: self.sim.worlds.rewind(self.sim.id, line, USER))

    def branch(self) -> None:
        self.on_a_line(lambda line: self.sim.worlds.branch_after(self.sim.id, line, USER))

    def back(self) -> None:
        """Go to the oldest branch that is not the current one."""
        for one in world_branches(self.sim.engine.log, self.sim.id):
            if not one.current:
                self.sim.worlds.switch_branch(self.sim.id, one.branch, USER)
                return

    def on_a_line(self, act: Callable[[str], object]) -> None:
        scene = self.sim.world.scene
        here = [one for one in self.said if scene and one.scene_id == scene.scene_id]
        if here:
            act(here[-min(2, len(here))].message_id)


@contextmanager
def other_home(folder: Path) -> Generator[Engine]:
    with Engine.open(folder, settings=RULES, ports=DeterministicPorts().ports) as engine:
        yield engine


def export(engine: Engine, world_id: str) -> bytes:
    world = engine.worlds.world(world_id)
    return engine.exchange.exports.world(world_id, world, "json").content


def take(engine: Engine, folder: Path, content: bytes) -> WorldImportResult:
    path = folder / "world.json"
    path.write_bytes(content)
    return engine.exchange.run(engine.exchange.open(path), USER)


def situation(engine: Engine, world_id: str, branch: str) -> dict[str, Any]:
    """All that a branch says, without ids of its records."""
    engine.worlds.switch_branch(world_id, branch, USER)
    world = engine.worlds.world(world_id)
    with engine.reading() as reader:
        said = story_messages(reader, world_id, limit=500)
        lore = lore_entries(reader, world_id)
    memories = engine.worlds.memories.listed(world_id, limit=500)
    present = (*world.scene.present, NARRATOR) if world.scene else ()
    return {
        "world": _plain(world),
        "said": _plain(said),
        "lore": _plain(lore),
        "memories": sorted(
            (one.text, one.kind, one.witnesses, one.significance, one.pinned, one.clock)
            for one in memories
        ),
        "told": {who: whole(engine.worlds.prompts.build(world_id, who).prompt) for who in present},
    }


def _plain(value: object) -> str:
    """The value as JSON, without positions."""
    return json.dumps(json.loads(msgspec.json.encode(value), object_hook=_without_positions))


def _without_positions(value: dict[str, Any]) -> dict[str, Any]:
    if isinstance(value.get("versions"), dict):  # by version, where it was recorded
        value["versions"] = sorted(value["versions"])
    return {key: one for key, one in value.items() if key not in POSITIONS}


def situations(engine: Engine, world_id: str) -> list[dict[str, Any]]:
    found = world_branches(engine.log, world_id)
    current = next(one.branch for one in found if one.current)
    all_of_them = [situation(engine, world_id, one.branch) for one in found]
    engine.worlds.switch_branch(world_id, current, USER)
    return all_of_them


@settings(max_examples=EXAMPLES)
@given(
    first=st.lists(st.sampled_from(STEPS), max_size=4),
    rest=st.lists(
        st.tuples(st.sampled_from(MOVES), st.lists(st.sampled_from(STEPS), max_size=3)),
        min_size=1,
        max_size=4,
    ),
)
def test_every_branch_of_an_imported_world_folds_equal(
    first: list[str], rest: list[tuple[str, list[str]]]
) -> None:
    with (
        TemporaryDirectory() as folder,
        simulation(Path(folder) / "one") as sim,
        other_home(Path(folder) / "two") as second,
    ):
        teller = Teller(sim)
        teller.run(["talk", "talk", *first])
        for move, steps in rest:
            teller.run([move, *steps])
        content = export(sim.engine, sim.id)
        (world_id,) = take(second, Path(folder), content).worlds
        assert export(second, world_id) == content
        assert situations(second, world_id) == situations(sim.engine, sim.id)


@contextmanager
def tell(folder: Path) -> Generator[Simulation]:
    """A world with branches that differ in all that can differ."""
    with simulation(folder) as sim:
        Teller(sim).run(
            [
                *("talk", "lore", "event", "swipe", "whisper", "pin"),
                *("branch", "retract", "talk", "scene", "talk", "lore"),
                *("back", "hide", "talk", "edit", "rewind", "talk"),
            ]
        )
        yield sim


@pytest.fixture
def told(tmp_path: Path) -> Generator[Simulation]:
    with tell(tmp_path / "told") as sim:
        yield sim


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    with tell(tmp_path_factory.mktemp("told")) as sim:
        return export(sim.engine, sim.id)


def test_the_current_branch_and_the_hidden_lines_of_each_come_along(
    told: Simulation, tmp_path: Path
) -> None:
    before = world_branches(told.engine.log, told.id)
    assert len(before) > 2
    with other_home(tmp_path / "two") as second:
        take(second, tmp_path, export(told.engine, told.id))
        after = world_branches(second.log, told.id)
        assert [one.current for one in after] == [one.current for one in before]
        assert [one.own for one in after] == [one.own for one in before]
        assert [one.left_after for one in after] == [one.left_after for one in before]
        assert situations(second, told.id) == situations(told.engine, told.id)


def test_what_was_deleted_on_every_branch_is_not_in_the_file(told: Simulation) -> None:
    line = told.say("The zircon-1 must go for good.")
    told.worlds.retract_message(told.id, line, "no", USER)
    assert b"zircon-1" not in export(told.engine, told.id)


def test_one_undo_takes_all_branches_and_memories_back_and_the_file_imports_again(
    told: Simulation, tmp_path: Path
) -> None:
    content = export(told.engine, told.id)
    with other_home(tmp_path / "two") as second:
        done = take(second, tmp_path, content)
        undone = second.exchange.undo(done.import_id, USER)
        with pytest.raises(NotFound):
            second.worlds.world(told.id)
        with second.reading() as reader:
            assert list_worlds(reader) == []
        assert second.worlds.memories.listed(told.id) == []
        second.log.retract([undone], reason="again", actor="user")
        assert export(second, told.id) == content
        second.exchange.undo(done.import_id, USER)
        take(second, tmp_path, content)
        assert export(second, told.id) == content
        assert situations(second, told.id) == situations(told.engine, told.id)


def test_an_import_that_was_interrupted_goes_on_where_it_was(
    told: Simulation, tmp_path: Path
) -> None:
    content = export(told.engine, told.id)
    with other_home(tmp_path / "two") as second:
        count = second.log.head
        take(second, tmp_path, content)
        whole_import = second.log.head - count
    for stopped_after in (3, 8, whole_import - 2):
        with other_home(tmp_path / f"stopped{stopped_after}") as third:
            _import_a_part(third, tmp_path, content, stopped_after)
            take(third, tmp_path, content)
            assert export(third, told.id) == content
            assert situations(third, told.id) == situations(told.engine, told.id)


class Interrupted(Exception):
    """The process ended."""


def _import_a_part(engine: Engine, folder: Path, content: bytes, records: int) -> None:
    """Begin an import whose process ends after so many records."""
    stop_at = engine.log.head + records
    clock = DeterministicPorts().ports.clock
    ports = ExchangePorts(engine.log, MortalBus(engine, stop_at), engine.files, clock)
    service = ExchangeService(ports, ExchangeLimits())
    (folder / "world.json").write_bytes(content)
    with pytest.raises(Interrupted):
        service.run(service.open(folder / "world.json"), USER)


class MortalBus:
    """A command bus whose process ends once the log has so many records."""

    def __init__(self, engine: Engine, stop_at: int) -> None:
        self._engine, self._stop_at = engine, stop_at

    @property
    def _alive(self) -> Engine:
        if self._engine.log.head >= self._stop_at:
            raise Interrupted
        return self._engine

    def do(self, command: Command, **options: Any) -> Receipt:
        return self._alive.do(command, **options)

    def do_many(self, commands: Sequence[Command], *, by: Context) -> list[Receipt]:
        return self._alive.do_many(commands, by=by)

    def do_each(self, asked: Sequence[tuple[Command, Context]]) -> list[Receipt]:
        return self._alive.do_each(asked)


def test_a_world_with_branches_imports_beside_itself(told: Simulation, tmp_path: Path) -> None:
    before = situations(told.engine, told.id)
    (copy,) = take(told.engine, tmp_path, export(told.engine, told.id)).worlds
    assert copy != told.id
    texts = [[one["text"] for one in json.loads(each["said"])] for each in before]
    copied = situations(told.engine, copy)
    assert [[one["text"] for one in json.loads(each["said"])] for each in copied] == texts
    assert [each["memories"] for each in copied] == [each["memories"] for each in before]
    after = situations(told.engine, told.id)
    for each in ("world", "said", "lore", "memories"):
        assert [one[each] for one in after] == [one[each] for one in before]


def test_an_export_of_the_first_version_still_imports(tmp_path: Path) -> None:
    with other_home(tmp_path / "home") as engine:
        (world_id,) = take(engine, tmp_path, OLD.read_bytes()).worlds
        world = engine.worlds.world(world_id)
        with engine.reading() as reader:
            said = [(one.text, one.hidden) for one in story_messages(reader, world_id)]
            lore = lore_entries(reader, world_id)
        assert world.title == "Summer"
        assert said[-2:] == [("Shall we *points* <go>?", True), ("Rain, then.", False)]
        assert "Ada is shy." in [one.content for one in lore]
        assert len(world_branches(engine.log, world_id)) == 1


BROKEN: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("no current branch", lambda file: file.update(current=99)),
    ("leaves no other branch", lambda file: file["branches"][0].update(after=10_000)),
    ("leaves out what it has not", lambda file: file["branches"][0].update(without=[10_000])),
    ("another branch", lambda file: file["facts"][3].update(because=[10_000])),
    ("made of nothing", lambda file: file["memories"][0].update(because=[])),
    ("made of nothing", lambda file: file["memories"][0].update(because=[-1])),
    ("no story", lambda file: file.update(facts=[])),
]


@pytest.mark.parametrize(("message", "damage"), BROKEN)
def test_an_export_whose_branches_do_not_fit_is_refused_and_leaves_nothing(
    exported: bytes, tmp_path: Path, message: str, damage: Callable[[dict[str, Any]], object]
) -> None:
    file = json.loads(exported)
    damage(file)
    with other_home(tmp_path / "two") as second:
        with pytest.raises(Invalid, match=message):
            take(second, tmp_path, json.dumps(file).encode())
        with second.reading() as reader:
            assert list_worlds(reader) == []
            assert list_characters(reader) == []


def test_half_an_imported_world_is_not_listed(exported: bytes, tmp_path: Path) -> None:
    with other_home(tmp_path / "two") as second:
        _import_a_part(second, tmp_path, exported, 25)
        with second.reading() as reader:
            assert list_worlds(reader) == []


def test_only_the_player_imports_lore_and_only_of_that_world() -> None:
    entry = LoreEntry("1", "The lake is haunted.")
    command = ReplayLore("w", (Draft(LoreEntrySet("w", entry)),))
    asking = DecisionContext(Context(actor="agent:x"), NOW)
    with pytest.raises(Forbidden):
        replay_lore(None, command, asking)
    asking = DecisionContext(USER, NOW)
    assert replay_lore(None, command, asking) == list(command.drafts)
    elsewhere = ReplayLore("other", command.drafts)
    with pytest.raises(Invalid, match="no lore of this world"):
        replay_lore(None, elsewhere, asking)
