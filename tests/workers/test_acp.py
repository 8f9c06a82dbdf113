"""An agent of the Agent Client Protocol as a worker: plan, question, approval, cost, restart."""

import json
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from tests.workers import acp_agent
from tests.workers.rig import Rig, rig, survivors

from everloop.adapters.runners.acp import AcpRunner
from everloop.adapters.runners.command import CommandRunner
from everloop.app import USER
from everloop.inbox import QuestionAnswer
from everloop.workers import AgentSettings, Grants, TaskLimits, TaskSpec

pytest.importorskip("acp")

ENDED = ("done", "failed", "uncertain")
Turn = list[dict[str, Any]]


@contextmanager
def agent(tmp_path: Path, *turns: Turn) -> Generator[Rig]:
    """An engine with a scripted agent."""
    script, state = tmp_path / "script.json", tmp_path / "state"
    state.mkdir()
    script.write_text(json.dumps(turns))
    words = (sys.executable, acp_agent.__file__, str(script), str(state))
    home = tmp_path / "home"
    with rig(home, (CommandRunner(), AcpRunner("scripted", AgentSettings(words)))) as one:
        yield one
        assert survivors(home) == []


def hire(work: Rig, brief: str = "Do it.", **more: Any) -> str:
    """Start a task of the agent as the user."""
    spec = TaskSpec("Do it", brief, "scripted", grants=Grants(sandbox="off"))
    spec = msgspec.structs.replace(spec, **more)
    return work.engine.workers.propose(spec, USER, start=True).task.task_id


def notes(tmp_path: Path) -> list[str]:
    """What the agent noted."""
    return (tmp_path / "state" / "notes").read_text().splitlines()


def prompts(tmp_path: Path) -> list[str]:
    """What the agent was told."""
    lines = (tmp_path / "state" / "prompts").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_an_acp_agent_plans_asks_works_and_is_checked(tmp_path: Path) -> None:
    """The whole journey, with the server started anew before each answer."""
    form = {"colour": {"type": "string", "title": "Colour", "enum": ["Red", "Blue"]}}
    run = {"run": "echo hello > made.txt"}
    with agent(
        tmp_path,
        [{"say": "1. Make the file."}, {"cost": 0.25}],
        [{"ask": form}, run, {"say": "Made it."}, {"cost": 0.75}],
    ) as work:
        name = hire(work, plan_first=True, check=("cat", "made.txt"))
        planned = work.until(name, "planned", *ENDED)
        assert planned.plan == "1. Make the file."
        work.restart()
        work.answer("approve")
        work.until(name, "waiting", *ENDED)
        work.restart()
        (request,) = work.waiting()
        assert [one.label for one in request.questions[0].options] == ["Red", "Blue"]
        work.answer("answer", answers=(QuestionAnswer("q1", ("Blue",)),))
        while not (found := work.waiting()) or found[0].kind != "approval":
            work.scheduler.tick()
        work.restart()
        assert "command: echo hello > made.txt" in found[0].body
        work.answer("approve")
        done = work.until(name, *ENDED)
        assert (done.state, done.claim) == ("done", "Made it."), done.reason
        assert done.verdict is not None
        assert done.verdict.passed
        assert (done.cost_usd, done.tokens) == (0.75, 200)
        said = notes(tmp_path)
        assert said[:4] == ["new", "mode plan", "load", "mode default"]
        assert '"content":{"colour":"Blue"}' in said[4]
        assert said[5] == "permission once"  # never the one that holds for later calls too
        assert "What was said before" not in work.shown(name)


def test_an_acp_agents_denied_call_does_not_run(tmp_path: Path) -> None:
    with agent(tmp_path, [{"run": "touch made.txt"}, {"say": "I did not."}]) as work:
        name = hire(work)
        work.until(name, "waiting", *ENDED)
        work.answer("deny")
        assert work.until(name, *ENDED).claim == "I did not."
        assert notes(tmp_path)[-1] == "permission no"
        assert not (tmp_path / "home" / "workers" / "work" / name / "made.txt").exists()


@pytest.mark.parametrize("second", ["rm -r kept", "ls"], ids=["another call", "the same again"])
def test_an_approval_holds_for_one_call_also_if_the_agent_uses_its_id_again(
    tmp_path: Path, second: str
) -> None:
    calls = [{"run": "ls", "name": "c1"}, {"run": second, "name": "c1"}]
    with agent(tmp_path, [*calls, {"say": "Done."}]) as work:
        name = hire(work)
        work.until(name, "waiting", *ENDED)
        work.answer("approve")
        while not (found := work.waiting()):
            work.scheduler.tick()
        assert (found[0].kind, f"command: {second}" in found[0].body) == ("approval", True)
        work.answer("deny")
        assert work.until(name, *ENDED).state == "done"
        assert notes(tmp_path)[-2:] == ["permission once", "permission no"]


def test_an_acp_agent_changes_nothing_while_it_plans(tmp_path: Path) -> None:
    with agent(tmp_path, [{"run": "touch made.txt"}, {"say": "The plan."}]) as work:
        name = hire(work, plan_first=True)
        assert work.until(name, "planned", *ENDED).plan == "The plan."
        assert notes(tmp_path)[-1] == "permission no"


def test_a_message_reaches_an_acp_agent_once_over_a_restart(tmp_path: Path) -> None:
    waiting: Turn = [{"say": "Working."}, {"wait": str(tmp_path / "never")}]
    with agent(tmp_path, waiting, [{"say": "Tabs it is."}]) as work:
        name = hire(work)
        while not (tmp_path / "state" / "prompts").exists():
            work.scheduler.tick()
        work.engine.workers.steer(name, "Use tabs please.", USER)
        work.scheduler.tick()
        work.restart()
        assert work.until(name, *ENDED).claim == "Tabs it is."
        assert prompts(tmp_path) == ["Do it.", "Use tabs please."]
        assert work.shown(name).count("Use tabs please.") == 1


def test_an_acp_agent_that_is_cancelled_leaves_nothing_running(tmp_path: Path) -> None:
    with agent(tmp_path, [{"wait": str(tmp_path / "never")}]) as work:
        name = hire(work)
        while not (tmp_path / "state" / "prompts").exists():
            work.scheduler.tick()
        work.engine.workers.cancel(name, USER)
        work.until(name, "cancelled")
        assert survivors(tmp_path / "home") == []


def test_an_acp_agent_that_is_killed_leaves_its_task_uncertain_and_a_retry_resumes(
    tmp_path: Path,
) -> None:
    with agent(tmp_path, [{"wait": str(tmp_path / "never")}], [{"say": "Done now."}]) as work:
        name = hire(work)
        while not (tmp_path / "state" / "prompts").exists():
            work.scheduler.tick()
        (found,) = [
            one.pid
            for one in map(psutil.Process, survivors(tmp_path / "home"))
            if acp_agent.__file__ in one.cmdline()
        ]
        os.kill(found, signal.SIGKILL)
        assert work.until(name, *ENDED).state == "uncertain"
        work.answer("retry")
        assert work.until(name, *ENDED).claim == "Done now."
        assert notes(tmp_path) == ["new", "load"]


def test_an_acp_agent_over_its_budget_pauses_with_what_it_has(tmp_path: Path) -> None:
    spending: Turn = [
        {"say": "Half of it."},
        {"run": "true"},
        {"cost": 9.0},
        {"say": "More of it."},
    ]
    with agent(tmp_path, spending, [{"say": "All of it."}]) as work:
        name = hire(work, limits=TaskLimits(cost_usd=5.0))
        work.until(name, "waiting", *ENDED)
        work.answer("approve")
        while not (found := work.waiting()) or found[0].kind != "paused":
            work.scheduler.tick()
        paused = work.task(name)
        assert ("$9.00 of $5.00" in paused.reason, "of it." in paused.claim) == (True, True)
        work.answer("continue")
        assert work.until(name, *ENDED).claim == "All of it."


@pytest.mark.parametrize(
    ("turn", "state", "words"),
    [
        ([{"say": "I may not."}, {"stop": "refusal"}], "failed", "I may not."),
        ([{"fail": "log in"}], "failed", "not logged in"),
        ([{"say": "So far."}, {"stop": "max_tokens"}], "waiting", "token limit"),
    ],
)
def test_an_acp_agents_stop_is_told(tmp_path: Path, turn: Turn, state: str, words: str) -> None:
    with agent(tmp_path, turn) as work:
        name = hire(work)
        ended = work.until(name, "waiting", *ENDED)
        assert (ended.state, words in ended.reason) == (state, True), ended.reason


def test_an_agent_that_is_not_installed_fails_with_a_hint(tmp_path: Path) -> None:
    runner = AcpRunner("gone", AgentSettings(("no-such-agent-here", "acp")))
    with rig(tmp_path, (CommandRunner(), runner)) as work:
        name = hire(work, runner="gone", limits=TaskLimits(attempts_max=1))
        assert "no-such-agent-here" in work.until(name, *ENDED).reason
