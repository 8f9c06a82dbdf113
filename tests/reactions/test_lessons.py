"""Candidate lessons from tasks, and what the gate decided, in the inbox."""

from collections.abc import Generator
from pathlib import Path
from typing import Literal

import pytest

from everloop.app import ENGINE, USER, Engine
from everloop.errors import Forbidden
from everloop.inbox import AnswerRequest, RequestView
from everloop.lessons.model.commands import (
    ActivateLesson,
    DiscardLesson,
    EditLesson,
    GiveFeedback,
    PromoteLesson,
    ProposeLesson,
    SupersedeLesson,
)
from everloop.log import Command, Context
from everloop.memory.settings import MemorySettings
from everloop.reactions.stale_lessons import StaleLessonsTask
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.workers import CheckFiles, TaskSpec, Workspace
from everloop.workers.model import commands as w

AGENT = Context(actor="agent:x")
STAGE = DeterministicPorts()


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    settings = Settings(memory=MemorySettings(embedder="none"))
    with Engine.open(tmp_path, settings=settings, ports=STAGE.ports) as one:
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


def stale_lessons(engine: Engine, *names: str, by: Context = AGENT) -> StaleLessonsTask:
    """Active lessons that nobody has rated for a year, in the order of their age."""
    for name in names:
        engine.do(ProposeLesson(name, f"Run the tests of {name}", "Before each commit."), by=by)
        engine.do(ActivateLesson(name), by=USER)
        STAGE.clock.tick(minutes=1)
    STAGE.clock.tick(days=400)
    return StaleLessonsTask(engine.log, engine, engine.lessons)


def asked(engine: Engine) -> list[str]:
    """The lessons that the inbox asks about."""
    return [one.subject for one in engine.inbox.overview().needs_you]


def choose(engine: Engine, choice: str) -> RequestView:
    """Answer the one request of the inbox as the user."""
    (request,) = engine.inbox.overview().needs_you
    answer = AnswerRequest(request.request_id, choice, request.digest, device="Pixel")
    return engine.inbox.answer(answer, USER)


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
    assert [one.value for one in request.choices] == ["keep", "discard"]


def test_a_stale_lesson_that_is_kept_makes_room_for_the_next(engine: Engine) -> None:
    task = stale_lessons(engine, "les-1", "les-2")
    task.look()
    assert asked(engine) == ["lesson:les-1"]
    choose(engine, "keep")
    assert engine.lessons.find("user", "les-1").status == "active"
    STAGE.clock.tick(days=400)
    task.look()
    assert asked(engine) == ["lesson:les-2"]


@pytest.mark.parametrize("author", [AGENT, USER])
def test_a_stale_lesson_is_discarded_by_its_receipt(engine: Engine, author: Context) -> None:
    stale_lessons(engine, "les-1", by=author).look()
    receipt = choose(engine, "discard").closing
    lesson = engine.lessons.find("user", "les-1")
    assert (lesson.status, receipt and receipt.device) == ("discarded", "Pixel")
    assert receipt is not None
    engine.log.retract([receipt.position], reason="slip", actor="user")
    assert engine.lessons.find("user", "les-1").status == "active"


def test_the_engine_discards_no_lesson_without_a_receipt(engine: Engine) -> None:
    stale_lessons(engine, "les-1")
    with pytest.raises(Forbidden):
        engine.do(DiscardLesson("les-1"), by=ENGINE)


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (GiveFeedback("les-1", helpful=True, signal_id="s1"), []),
        (DiscardLesson("les-1", force=True), []),
        (EditLesson("les-1", body="Before each push."), ["lesson:les-1"]),
        (SupersedeLesson("les-1", by="les-2", force=True), []),
    ],
)
def test_the_question_about_a_lesson_goes_when_the_lesson_has_changed(
    engine: Engine, change: Command, again: list[str]
) -> None:
    task = stale_lessons(engine, "les-1")
    engine.do(ProposeLesson("les-2", "Run them", "Always."), by=USER)
    task.look()
    engine.do(change, by=USER)
    assert asked(engine) == []
    task.look()
    assert asked(engine) == again


def test_what_a_worker_spends_is_booked_with_all_other_usage(engine: Engine) -> None:
    spec = TaskSpec("Fix it", "Fix it.", "claude", model="opus")
    engine.do(w.ProposeTask("t1", spec, start=True), by=USER)
    engine.do(w.BeginAttempt("t1", 1, "here"), by=ENGINE)
    engine.do(w.RecordSpending("t1", 1, 0.25, 900), by=ENGINE)
    (call,) = [one for one in engine.log.records() if one.kind == "thread.model_called"]
    assert '"claude:opus"' in str(call.data)
    assert "0.25" in str(call.data)
