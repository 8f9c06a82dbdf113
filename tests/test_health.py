"""Health of a running server: the findings that `everloop doctor` and the page Health share."""

from pathlib import Path

import pytest

from everloop.app import USER, Engine
from everloop.background.health import TaskHealth
from everloop.background.jobs import JobStatus
from everloop.doctor.health import (
    HealthReport,
    check_jobs,
    check_models,
    check_running,
    queue_lengths,
)
from everloop.testing.deterministic import DeterministicPorts
from everloop.thread.model.commands import HOME, FailTurn
from everloop.thread.service import OutgoingMessage, ThreadService
from everloop.turns.outcomes import TurnOutcomes, TurnStep, count_outcomes


def _step(position: int, turn_id: str, phase: str, reason: str = "") -> TurnStep:
    return TurnStep(position, turn_id, phase, position, reason, "Start Ollama." if reason else "")


def test_a_failure_after_the_last_answer_needs_attention_with_the_hint_of_the_model() -> None:
    steps = [_step(1, "a", "done"), _step(2, "b", "recorded"), _step(3, "b", "failed", "refused")]
    (finding,) = check_models(count_outcomes(steps))
    assert (finding.verdict, finding.next_step) == ("attention", "Start Ollama.")
    assert finding.words == "1 answer failed in the last 24 h, last: refused"


def test_an_answer_after_the_failure_makes_it_fine_again() -> None:
    steps = [_step(3, "b", "failed", "refused"), _step(5, "c", "rendered")]
    (finding,) = check_models(count_outcomes(steps))
    assert (finding.verdict, "answers have come since" in finding.words) == ("fine", True)


def test_an_answer_that_broke_off_with_a_server_is_named() -> None:
    first, _ = check_models(count_outcomes([_step(1, "a", "uncertain")]))
    assert (first.topic, first.verdict) == ("answers", "attention")


def test_a_turn_waits_until_its_last_step_is_an_end() -> None:
    steps = [_step(2, "a", "sending"), _step(1, "a", "recorded"), _step(3, "b", "stopped")]
    assert count_outcomes(steps) == TurnOutcomes(waiting=1)


def test_a_failed_job_says_what_to_do() -> None:
    failed = JobStatus("i", "import", "a.zip", "failed", problem="no room", hint="Free some.")
    (finding,) = check_jobs([failed, JobStatus("j", "import", "b", "broken off")])
    assert (finding.words, finding.next_step) == ("import of a.zip: no room", "Free some.")
    assert next(check_jobs([])).verdict == "fine"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """An empty log, with a clock that stands still."""
    return Engine.open(tmp_path / "home", ports=DeterministicPorts().ports)


def test_failures_of_the_last_day_are_read_from_the_log(engine: Engine) -> None:
    with engine:
        talk = ThreadService(engine.log, engine, engine.memory)
        talk.home_thread(USER)
        sent = talk.send(HOME, OutgoingMessage("Hello."), USER)
        waiting = {one.name: one.length for one in _report(engine).queues}
        assert waiting["answers"] == 1
        engine.do(FailTurn(HOME, sent.turn_id, "", "the model is away", "Start it."))
        report = _report(engine)
        assert report.problems >= 1
        (found,) = [one for one in report.findings if one.topic == "model errors"]
        assert (found.verdict, found.next_step) == ("attention", "Start it.")
        assert {one.name: one.length for one in report.queues}["answers"] == 0


def test_queues_count_what_a_task_has_not_done_yet(engine: Engine) -> None:
    with engine:
        task = TaskHealth("embedding", "running", done=3, total=8)
        job = JobStatus("j", "import", "b", "waiting")
        found = queue_lengths(engine, TurnOutcomes(), [task], [job])
        lengths = {one.name: one.length for one in found}
    assert (lengths["embedding"], lengths["jobs"], lengths["inbox"]) == (5, 1, 0)


def _report(engine: Engine) -> HealthReport:
    return check_running(engine, [TaskHealth("turns", "running")], [], 10**12)
