"""Candidate lessons from tasks, and what the gate decided, in the inbox."""

from collections.abc import Generator
from pathlib import Path
from typing import Literal

import pytest

from everloop.app import ENGINE, USER, Engine
from everloop.lessons.model.commands import ActivateLesson, PromoteLesson, ProposeLesson
from everloop.log import Context
from everloop.memory.settings import MemorySettings
from everloop.reactions.stale_lessons import StaleLessonsTask
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicWorld
from everloop.workers import CheckFiles, TaskSpec, Workspace
from everloop.workers.model import commands as w

AGENT = Context(actor="agent:x")
STAGE = DeterministicWorld()


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    settings = Settings(memory=MemorySettings(embedder="none"))
    with Engine.open(tmp_path, settings=settings, world=STAGE.world) as one:
        yield one


def attempt(engine: Engine, number: int, files: CheckFiles | None = None) -> None:
    """One attempt of the task that succeeds; `files` are those of the check."""
    engine.do(w.BeginAttempt("t1", number, "here"), by=ENGINE)
    if files:
        engine.do(w.CompareCheckFiles("t1", number, files), by=ENGINE)
    engine.do(w.EndAttempt("t1", number, "succeeded", claim="Done."), by=ENGINE)


def settle(engine: Engine, choice: str, text: str = "") -> None:
    """Answer the one request that the task waits for."""
    (name,) = engine.workers.find("t1").task.requests
    engine.do(w.SettleRequest("t1", name, choice, text=text), by=ENGINE)


@pytest.mark.parametrize("standing", ["unchanged", "changed", "unknown"])
def test_what_the_user_corrected_in_a_task_is_a_candidate_with_the_checks_verdict(
    engine: Engine, standing: Literal["unchanged", "changed", "unknown"]
) -> None:
    """A verdict of a check whose files the worker may have changed is no evidence."""
    spec = TaskSpec(
        "Fix the test",
        "Fix it.",
        "claude",
        check=("pytest",),
        workspace=Workspace("worktree", "/c"),
    )
    engine.do(w.ProposeTask("t1", spec, start=True), by=USER)
    attempt(engine, 1)
    attempt(engine, 2)
    settle(engine, "revise", "Never sleep in a test.")
    attempt(engine, 3)
    attempt(engine, 4, CheckFiles(standing))
    settle(engine, "keep")
    engine.do(w.SettleDisposition("t1", "keep", done=True, detail="Kept."), by=ENGINE)
    lesson = engine.lessons.find("user", "les-task-t1")
    assert (lesson.lesson_id, lesson.status) == ("les-task-t1", "pending")
    assert "Never sleep in a test." in lesson.body
    kinds = [record.kind for record in engine.log.records()]
    assert kinds.count("lessons.verdict_recorded") == (standing == "unchanged")


def test_a_task_without_corrections_proposes_no_lesson(engine: Engine) -> None:
    engine.do(w.ProposeTask("t1", TaskSpec("List", command=("ls",)), start=True), by=USER)
    attempt(engine, 1)
    assert not [one for one in engine.log.records() if one.kind.startswith("lessons.")]


def test_what_the_gate_decided_without_the_user_is_in_the_inbox(engine: Engine) -> None:
    engine.do(ProposeLesson("les-1", "Run the tests", "Before each commit."), by=AGENT)
    engine.do(ActivateLesson("les-1"), by=USER)
    engine.do(PromoteLesson("les-1"), by=AGENT)
    (request,) = engine.inbox.overview().needs_you
    assert request.kind == "gate_decision"
    assert request.title == "The gate refused a lesson: Run the tests"
    engine.do(PromoteLesson("les-1"), by=USER)
    assert len(engine.inbox.overview().needs_you) == 1  # the user was there


def test_a_stale_lesson_is_asked_about_once(engine: Engine) -> None:
    engine.do(ProposeLesson("les-1", "Run the tests", "Before each commit."), by=AGENT)
    engine.do(ActivateLesson("les-1"), by=USER)
    task = StaleLessonsTask(engine.log, engine, engine.lessons)
    task.look()
    assert engine.inbox.overview().needs_you == ()
    STAGE.clock.tick(days=400)
    for _ in range(2):
        task.look()
    (request,) = engine.inbox.overview().needs_you
    assert (request.kind, "Run the tests" in request.title) == ("stale_lesson", True)


def test_what_a_worker_spends_is_booked_with_all_other_usage(engine: Engine) -> None:
    spec = TaskSpec("Fix it", "Fix it.", "claude", model="opus")
    engine.do(w.ProposeTask("t1", spec, start=True), by=USER)
    engine.do(w.BeginAttempt("t1", 1, "here"), by=ENGINE)
    engine.do(w.RecordSpending("t1", 1, 0.25, 900), by=ENGINE)
    (call,) = [one for one in engine.log.records() if one.kind == "thread.model_called"]
    assert '"claude:opus"' in str(call.data)
    assert "0.25" in str(call.data)
