"""Claude Code as a worker: the real CLI against a loopback fake of the Messages API."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.workers.fake_messages_api import FakeMessagesApi, Step, fake_messages_api
from tests.workers.rig import Rig, rig, survivors

from everloop.adapters.runners.claude import ClaudeRunner
from everloop.adapters.runners.command import CommandRunner
from everloop.app import USER
from everloop.inbox import QuestionAnswer
from everloop.workers import Grants, TaskLimits, TaskSpec, Workspace

pytest.importorskip("claude_agent_sdk")

BASH = ("Bash", {"command": "echo hello > made.txt", "description": "Make a file"})
ASK = (
    "AskUserQuestion",
    {
        "questions": [
            {
                "question": "Which colour?",
                "header": "Colour",
                "options": [
                    {"label": "Red", "description": "Warm"},
                    {"label": "Blue", "description": "Cold"},
                ],
                "multiSelect": False,
            }
        ]
    },
)


@contextmanager
def agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *steps: Step
) -> Generator[tuple[Rig, FakeMessagesApi]]:
    """An engine with Claude Code, which talks to a script."""
    with fake_messages_api(*steps) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-fake")
        monkeypatch.setenv("CLAUDE_CODE_MAX_RETRIES", "1")
        with rig(tmp_path, (CommandRunner(), ClaudeRunner())) as one:
            yield one, api


def hire(work: Rig, brief: str = "Do it.", **more: Any) -> str:
    """Start a task of Claude Code as the user."""
    spec = TaskSpec("Do it", brief, "claude", grants=Grants(sandbox="off"))
    spec = msgspec.structs.replace(spec, **more)
    return work.engine.workers.propose(spec, USER, start=True).task.task_id


def workspace(tmp_path: Path, name: str) -> Path:
    """The empty folder in which a task works."""
    return tmp_path / "workers" / "work" / name


def test_an_agent_answers_and_its_cost_is_booked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agents(tmp_path, monkeypatch, ["All done."]) as (work, api):
        name = hire(work, "Say that all is done.")
        done = work.until(name, "done", "failed", "uncertain")
        assert (done.state, done.claim) == ("done", "All done.")
        assert done.cost_usd > 0
        assert done.tokens >= 1_000
        assert "All done." in work.shown(name)
        assert "Say that all is done." in api.heard()
        assert survivors(tmp_path) == []


def test_an_approval_is_deferred_over_a_restart_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agents(tmp_path, monkeypatch, [BASH], ["Made it."]) as (work, _):
        name = hire(work)
        waiting = work.until(name, "waiting", "done", "failed", "uncertain")
        while work.task(name).attempt is not None:
            work.scheduler.tick()
        assert (waiting.state, survivors(tmp_path)) == ("waiting", [])
        (request,) = work.waiting()
        assert request.kind == "approval"
        assert "command: echo hello > made.txt" in request.body
        assert not (workspace(tmp_path, name) / "made.txt").exists()
        work.restart()
        work.answer("approve")
        done = work.until(name, "done", "failed", "uncertain")
        assert (done.state, done.claim) == ("done", "Made it.")
        assert (workspace(tmp_path, name) / "made.txt").read_text() == "hello\n"
        assert done.cost_usd < 0.2  # each process reports the session's total: booked once


@pytest.mark.promise("P-INBOX-2")
@pytest.mark.parametrize("command", ["echo hello > made.txt", "ls -d /"])
def test_a_denial_reaches_the_agent_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Also what the CLI would allow by itself, when it resumes the call that was deferred."""
    call = ("Bash", {"command": command, "description": "Try it"})
    with agents(tmp_path, monkeypatch, [call], ["I did not."]) as (work, api):
        name = hire(work)
        work.until(name, "waiting")
        while work.task(name).attempt is not None:
            work.scheduler.tick()
        work.answer("deny")
        assert work.until(name, "done", "failed", "uncertain").claim == "I did not."
        assert not (workspace(tmp_path, name) / "made.txt").exists()
        assert "Denied by user" in api.heard()


def test_a_question_becomes_a_form_and_the_answer_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agents(tmp_path, monkeypatch, [ASK], ["Blue it is."]) as (work, api):
        name = hire(work)
        work.until(name, "waiting", "done", "failed")
        while work.task(name).attempt is not None:
            work.scheduler.tick()
        (request,) = work.waiting()
        (question,) = request.questions
        assert [one.label for one in question.options] == ["Red", "Blue"]
        work.answer("answer", answers=(QuestionAnswer("q1", ("Blue",)),))
        assert work.until(name, "done", "failed", "uncertain").claim == "Blue it is."
        assert "Blue" in api.heard()


def test_a_plan_is_reviewed_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ("ExitPlanMode", {"plan": "1. Make the file."})
    write = ("Write", {"file_path": "made.txt", "content": "hello"})
    with agents(tmp_path, monkeypatch, [plan], [write], ["Done as planned."]) as (work, _):
        name = hire(work, plan_first=True)
        planned = work.until(name, "planned", "failed", "uncertain", "done")
        assert (planned.state, planned.plan) == ("planned", "1. Make the file.")
        work.answer("approve")
        done = work.until(name, "done", "failed", "uncertain", "waiting")
        assert (done.state, done.claim) == ("done", "Done as planned."), done.reason


def test_an_overloaded_service_is_tried_again_and_then_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agents(tmp_path, monkeypatch, *[529] * 40) as (work, _):
        name = hire(work, limits=TaskLimits(attempts_max=2))
        while work.task(name).tries == 0:
            work.scheduler.tick()
        assert work.task(name).retry_at_us > 0
        work.stage.clock.tick(seconds=5)
        assert work.until(name, "failed", "uncertain").tries == 2


def test_a_message_that_was_sent_while_it_waited_reaches_the_agent_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agents(tmp_path, monkeypatch, [BASH], ["Understood."], ["Tabs it is."]) as (work, api):
        name = hire(work)
        work.until(name, "waiting")
        work.engine.workers.steer(name, "Use tabs please.", USER)
        work.answer("deny")
        work.until(name, "done", "failed", "uncertain")
        assert work.task(name).steering == ()
        assert work.shown(name).count("Use tabs please.") == 1
        assert "Use tabs please." in api.heard()


def test_a_repositorys_own_hooks_and_servers_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agents(tmp_path, monkeypatch, ["Done."]) as (work, _):
        folder = tmp_path / "hostile"
        (folder / ".claude").mkdir(parents=True)
        canary = f"touch {tmp_path}/canary"
        hook = {"hooks": [{"type": "command", "command": canary}]}
        settings = {"hooks": {"SessionStart": [hook], "PreToolUse": [hook]}}
        (folder / ".claude" / "settings.json").write_text(json.dumps(settings))
        server = {"mcpServers": {"x": {"command": "sh", "args": ["-c", canary]}}}
        (folder / ".mcp.json").write_text(json.dumps(server))
        name = hire(work, workspace=Workspace("folder", str(folder)))
        assert work.until(name, "done", "failed", "uncertain").state == "done"
        assert not (tmp_path / "canary").exists()


def test_a_rate_limit_passes_and_the_agent_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agents(tmp_path, monkeypatch, 429, ["After all."]) as (work, _):
        name = hire(work)
        assert work.until(name, "done", "failed", "uncertain").claim == "After all."
        assert "answered 429" in work.shown(name)


def test_a_context_that_is_full_is_told_and_the_retry_goes_on_in_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = ("Write", {"file_path": "made.txt", "content": "hello"})
    with agents(tmp_path, monkeypatch, [write], *[400] * 20) as (work, api):
        name = hire(work)
        failed = work.until(name, "failed", "done", "uncertain")
        assert (failed.state, failed.attempts) == ("failed", 1), work.shown(name)
        assert "too long" in failed.reason
        assert (workspace(tmp_path, name) / "made.txt").exists()
        api.steps[:] = [["Made it."]]
        work.answer("retry")
        done = work.until(name, "done", "failed", "uncertain")
        assert (done.claim, done.session_id) == ("Made it.", failed.session_id)


def test_several_calls_in_one_turn_never_run_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code defers one; the others did not run, and are asked for when called again."""
    other = ("Bash", {"command": "echo other > other.txt", "description": "Another"})
    with agents(tmp_path, monkeypatch, [BASH, other], [BASH], ["One of two."]) as (work, api):
        name = hire(work)
        decided: dict[str, str] = {}
        while not work.task(name).ended:
            work.scheduler.tick()
            for request in work.waiting():
                if request.kind == "approval" and request.request_id not in decided:
                    choice = "approve" if "made.txt" in request.body else "deny"
                    assert not (workspace(tmp_path, name) / "made.txt").exists()
                    decided[request.request_id] = choice
                    work.restart()
                    work.answer_one(request, choice)
        assert sorted(decided.values()) == ["approve", "deny"], work.shown(name)
        assert (workspace(tmp_path, name) / "made.txt").exists()
        assert not (workspace(tmp_path, name) / "other.txt").exists()
        assert "Denied by user" in api.heard()


def test_a_sub_agents_work_is_part_of_the_transcript_and_of_the_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"description": "Look", "prompt": "Look around.", "subagent_type": "general-purpose"}
    with agents(tmp_path, monkeypatch, [("Agent", asked)], ["It looked."]) as (work, api):
        name = hire(work)
        done = work.until(name, "done", "failed", "uncertain", "waiting")
        assert (done.state, done.claim) == ("done", "It looked."), done.reason
        assert "The sub-agent found nothing." in work.shown(name)
        assert "Look around." in api.heard()
        assert done.tokens >= 3_000  # two turns of its own, one of the sub-agent


def test_the_budget_of_a_day_pauses_with_what_was_done_and_starts_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agents(tmp_path, monkeypatch, ["All done."], ["More."]) as (work, _):
        settings = msgspec.structs.replace(work.settings.workers, day_cost_usd=0.000_001)
        work.settings = msgspec.structs.replace(work.settings, workers=settings)
        work.restart()
        first = hire(work)
        ended = work.until(first, "done", "waiting", "failed", "uncertain")
        assert "All done." in (ended.claim or work.shown(first))
        second = hire(work)
        paused = work.until(second, "waiting", "done", "failed", "uncertain")
        assert (paused.state, paused.attempts) == ("waiting", 0)
        assert "today" in paused.reason
        work.stage.clock.tick(days=1)
        (request,) = [one for one in work.waiting() if one.subject == f"task:{second}"]
        work.answer_one(request, "continue")
        assert work.until(second, "done", "waiting", "failed", "uncertain").attempts == 1
