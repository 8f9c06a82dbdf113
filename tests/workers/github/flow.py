"""An engine with a task scheduler and the GitHub flow, all moved by hand, beside a fake GitHub."""

import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from tests.workers.github.fake_github import REPOSITORY, TOKEN, FakeGitHub, fake_github

from everloop.adapters.github.client import GitHubClient
from everloop.adapters.github.push_branch import GitPublisher
from everloop.adapters.github.rest import RestGitHub
from everloop.adapters.processes.supervisor import SupervisedProcesses
from everloop.adapters.runners.command import CommandRunner
from everloop.app import USER, Engine
from everloop.inbox import AnswerRequest, RequestView
from everloop.memory.settings import MemorySettings
from everloop.ports import SystemPorts
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.workers import (
    GitHubSettings,
    GitHubTask,
    PushTask,
    RepositorySettings,
    Task,
    TaskScheduler,
    WorkerMachine,
)
from everloop.workers.github.model.state import LINK, IssueLink, link_stream

WAIT_S = 60.0
WORK = "echo more >> a.txt; echo done"


def git(folder: Path, *words: str) -> str:
    """Run git."""
    done = subprocess.run(  # noqa: S603 - fixed words
        ["git", "-C", str(folder), "-c", "user.name=T", "-c", "user.email=t@t.invalid", *words],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def make_repository(folder: Path) -> tuple[Path, Path]:
    """A clone with one commit, and the bare repository that is its `origin`."""
    clone, bare = folder / "shop", folder / "shop.git"
    clone.mkdir(parents=True)
    git(clone, "init", "--quiet", "--initial-branch=main")
    (clone / "a.txt").write_text("a\n")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "first")
    git(clone, "clone", "--quiet", "--bare", str(clone), str(bare))
    git(clone, "remote", "add", "origin", str(bare))
    return clone, bare


def github_settings(fake: FakeGitHub, clone: Path, work: str = WORK, **more: Any) -> GitHubSettings:
    """One repository whose worker is a command; usually it adds a line to a file."""
    repository = RepositorySettings(REPOSITORY, str(clone), command=("sh", "-c", work))
    chosen = GitHubSettings({"shop": repository}, api_url=fake.url, token_key=TOKEN)
    return msgspec.structs.replace(chosen, **more)


class Flow:
    """Everything that a served process does, turn by turn."""

    def __init__(
        self, home: Path, fake: FakeGitHub, chosen: GitHubSettings, ports: SystemPorts
    ) -> None:
        self.fake = fake
        self.settings = Settings(memory=MemorySettings(embedder="none"), github=chosen)
        self.engine = Engine.open(home, settings=self.settings, ports=ports)
        self.client = GitHubClient(chosen.api_url, lambda: chosen.token_key, ports.clock)
        self.github = RestGitHub(self.client)
        engine, workers = self.engine, self.settings.workers
        processes = SupervisedProcesses(home / "workers")
        machine = WorkerMachine(
            (CommandRunner(),), processes, engine.workspaces, engine.task_folders
        )
        self.scheduler = TaskScheduler(engine.log, engine, ports.clock, machine, workers)
        self.task = GitHubTask(engine.log, engine, ports.clock, chosen, workers.limits, self.github)
        publisher = GitPublisher(engine.workspaces, lambda: chosen.token_key, chosen.api_url)
        self.pushes = PushTask(engine.log, engine, ports.clock, chosen, publisher, processes.host)

    def turn(self) -> None:
        """One turn of each."""
        self.scheduler.tick()
        self.pushes.tick()
        self.task.tick()

    def link(self, number: int = 12) -> IssueLink:
        """An issue and what became of it."""
        found = self.engine.log.state(LINK, link_stream(REPOSITORY, number))
        assert found is not None
        return found

    def worker(self, number: int = 12) -> Task:
        """The task of an issue."""
        return self.engine.workers.find(self.link(number).task_id).task

    def waiting(self) -> list[RequestView]:
        """What waits for the user."""
        seen = self.engine.inbox.overview()
        return [*seen.needs_you, *seen.failed, *seen.finished]

    def answer(self, kind: str, choice: str, text: str = "") -> None:
        """Answer the one request of a kind."""
        (request,) = [one for one in self.waiting() if one.kind == kind]
        said = AnswerRequest(request.request_id, choice, request.digest, text=text)
        self.engine.inbox.answer(said, USER)

    def kinds(self, prefix: str = "github.") -> list[str]:
        """The kinds of facts in the log, in order."""
        found = [record.kind for record in self.engine.log.records()]
        return [kind for kind in found if kind.startswith(prefix)]


class SteppedFlow(Flow):
    """A flow whose clock goes on with each turn."""

    def __init__(self, home: Path, fake: FakeGitHub, chosen: GitHubSettings) -> None:
        self.stage = DeterministicPorts()
        super().__init__(home, fake, chosen, self.stage.ports)

    def until(self, reached: Callable[["SteppedFlow"], object], number: int = 12) -> IssueLink:
        """Turn until something holds for an issue and its task."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            if self.engine.log.state(LINK, link_stream(REPOSITORY, number)) is not None:
                link = self.link(number)
                if link.task_id and reached(self):
                    return link
            self.turn()
            self.stage.clock.tick(seconds=31)
            time.sleep(0.005)  # processes of tasks run meanwhile
        raise AssertionError(f"still {self.link(number)}")

    def publish(self) -> IssueLink:
        """Start the proposed task of issue 12, and wait until its pull request is open."""
        self.fake.add_issue(12, "Fix the shop", "It is broken.")
        self.until(lambda flow: [one.kind for one in flow.waiting()] == ["proposal"])
        self.answer("proposal", "start")
        return self.until(lambda flow: flow.link().pull_request and flow.is_shown())

    def is_shown(self) -> bool:
        """Whether what is in review is on GitHub."""
        link, task = self.link(), self.worker()
        shown = link.posts.get(f"{link.pushed}.pull-request")
        return task.state == "review" and shown is not None and shown.state == "done"


@contextmanager
def stepped_flow(tmp_path: Path, **more: Any) -> Generator[SteppedFlow]:
    """A flow on a new repository and a new fake."""
    clone, _ = make_repository(tmp_path)
    with fake_github() as fake:
        flow = SteppedFlow(tmp_path / "home", fake, github_settings(fake, clone, **more))
        try:
            yield flow
        finally:
            flow.engine.close()
