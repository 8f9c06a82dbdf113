"""Kill -9 while something is posted: it is looked for, and never there twice."""

import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.workers.github.fake_github import FakeGitHub, fake_github
from tests.workers.github.flow import Flow, github_settings

from everloop.adapters.system import SystemClock, system_ports
from everloop.app import ENGINE, USER
from everloop.ports import Clock
from everloop.workers import TaskSpec, Workspace
from everloop.workers.github.model.commands import (
    BeginPost,
    LinkIssue,
    PlanPost,
    RecordPush,
)
from everloop.workers.model import commands as w

ROOT = Path(__file__).parents[3]
WAIT_S = 60


class LaterClock:
    """The system's clock, some minutes later."""

    def __init__(self, minutes: int) -> None:
        self._clock: Clock = SystemClock()
        self._later = timedelta(minutes=minutes)

    def now(self) -> datetime:
        """The current time, later."""
        return self._clock.now() + self._later

    def now_us(self) -> int:
        """The same in microseconds."""
        return self._clock.now_us() + int(self._later.total_seconds()) * 1_000_000


def later_flow(tmp_path: Path, fake: FakeGitHub, minutes: int) -> Flow:
    """The flow of a process that starts some minutes later."""
    ports = system_ports(5.0)._replace(clock=LaterClock(minutes))
    return Flow(tmp_path / "home", fake, github_settings(fake, tmp_path), ports)


def prepare(tmp_path: Path, fake: FakeGitHub, kind: str) -> None:
    """An issue whose task has a plan to be posted, or a branch that was pushed."""
    flow = later_flow(tmp_path, fake, 0)
    do = flow.engine.do
    do(LinkIssue("octo/shop", 12, "t1", "Fix", "Broken.", "reporter", "u"), by=ENGINE)
    place = Workspace("worktree", str(tmp_path))
    spec = TaskSpec("Fix", "Fix it.", "claude", plan_first=kind == "plan", workspace=place)
    do(w.ProposeTask("t1", spec, start=True), by=USER)
    do(w.BeginAttempt("t1", 1, "here"), by=ENGINE)
    do(w.EndAttempt("t1", 1, "succeeded", plan="1. Look.", claim="Done."), by=ENGINE)
    if kind == "pull request":
        push = ("octo/shop", 12, "t1.review.1.push")
        do(PlanPost(*push, "push"), by=ENGINE)
        do(BeginPost(*push, 1), by=ENGINE)
        do(RecordPush(*push, "everloop/fix", "c1"), by=ENGINE)
    flow.engine.close()


def kill_while_posting(tmp_path: Path, fake: FakeGitHub) -> None:
    """Start a process that posts, and kill it before it has an answer."""
    words = [sys.executable, "-m", "tests.workers.github.posting_process"]
    words += [str(tmp_path / "home"), str(tmp_path), fake.url]
    process = subprocess.Popen(words, cwd=ROOT)  # noqa: S603 - our own module
    try:
        assert fake.arrived.wait(WAIT_S), "nothing was posted"
    finally:
        process.kill()
        process.wait()


@pytest.mark.promise("P-GITHUB-6")
@pytest.mark.parametrize(("kind", "arrived"), [("plan", True), ("pull request", False)])
def test_what_was_being_posted_when_the_process_was_killed_is_there_once(
    tmp_path: Path, kind: str, arrived: bool
) -> None:
    with fake_github() as fake:
        prepare(tmp_path, fake, kind)
        fake.silent, fake.deaf = arrived, not arrived
        kill_while_posting(tmp_path, fake)
        fake.silent = fake.deaf = False
        made = fake.comments.get(12, []) if kind == "plan" else list(fake.pulls.values())
        assert len(made) == int(arrived)
        soon = later_flow(tmp_path, fake, 0)
        soon.task.tick()
        assert "github.post_done" not in soon.kinds()  # it may still be on its way
        soon.engine.close()
        flow = later_flow(tmp_path, fake, 3)
        for _ in range(3):
            flow.task.tick()
        made = fake.comments.get(12, []) if kind == "plan" else list(fake.pulls.values())
        assert len(made) == 1
        last = flow.link().posts["t1.plan.1" if kind == "plan" else "t1.review.1.pull-request"]
        assert (last.state, last.tries, last.remote_id > 0) == ("done", 2, True)
        flow.engine.close()


@pytest.mark.promise("P-GITHUB-6")
def test_what_cannot_be_told_is_uncertain_and_not_sent_again_by_itself(tmp_path: Path) -> None:
    with fake_github() as fake:
        prepare(tmp_path, fake, "plan")
        fake.refusals["POST /repos/octo/shop/issues/12/comments"] = (502, "Bad Gateway")
        for minutes in range(0, 30, 3):
            flow = later_flow(tmp_path, fake, minutes)
            flow.task.tick()
            flow.engine.close()
        flow = later_flow(tmp_path, fake, 31)
        assert flow.link().posts["t1.plan.1"].state == "uncertain"
        assert len(fake.posted()) == 5
        (asked,) = [one for one in flow.waiting() if one.kind == "uncertain"]
        assert asked.choices[0].value == "again"
        flow.engine.close()
