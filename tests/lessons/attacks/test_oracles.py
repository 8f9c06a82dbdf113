"""No host learns from an answer or an id what is in a scope that it was not let into."""

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, HELPER, SHORT, USER, LessonHarness

from everloop.errors import EverloopError, NotFound
from everloop.lessons.capture.entries import CaptureEntry, CaptureSource
from everloop.lessons.capture.service import CaptureService
from everloop.lessons.model.commands import GiveFeedback, LogPhase, ProposeLesson, UseLesson
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience
from everloop.workers.model.commands import StartTask

SECRET = "The PIN is 4711"  # noqa: S105 - a test
LIMITED = Context(actor="agent:limited", session="s9")
PACK = ProposeLesson(
    "", "Pin it", SECRET, author="pack", pack_id="p", external_id="1", scope="project:other"
)
CALLS = ("find", "gate_result", "use", "feedback", "promote", "narrate")


@pytest.fixture
def limited(harness: LessonHarness) -> LessonHarness:
    """A log with a host that was let into one project only."""
    harness.engine.do(GrantAudience(LIMITED.actor, ("project:own",)))
    return harness


def _answer(harness: LessonHarness, call: str, lesson_id: str) -> str:
    lessons = harness.lessons
    try:
        match call:
            case "find" | "gate_result":
                getattr(lessons, call)(LIMITED.actor, lesson_id)
            case "use":
                lessons.use(UseLesson(lesson_id), by=LIMITED)
            case "feedback":
                lessons.feedback(GiveFeedback(lesson_id, True, "s"), by=LIMITED)
            case _:
                getattr(lessons, call)(lesson_id, by=LIMITED)
    except EverloopError as problem:
        return f"{type(problem).__name__}: {problem} {problem.hint}".replace(lesson_id, "ID")
    return "answered"


@pytest.mark.promise("P-MEM-6")
@pytest.mark.parametrize("call", CALLS)
def test_a_hidden_lesson_is_answered_like_one_that_is_not_there(
    limited: LessonHarness, call: str
) -> None:
    limited.propose(new=msgspec.structs.replace(SHORT, scope="project:other"), lesson_id="les-x")
    answers = {_answer(limited, call, lesson_id) for lesson_id in ("les-x", "les-no")}
    assert len(answers) == 1
    assert answers.pop().startswith("NotFound")


@pytest.mark.promise("P-MEM-6")
@pytest.mark.parametrize("guess", [SECRET, "The PIN is 0815"])
def test_proposing_a_packs_lesson_tells_nothing_of_a_hidden_one(
    limited: LessonHarness, guess: str
) -> None:
    hidden = limited.lessons.propose(PACK, by=USER)
    new = msgspec.structs.replace(PACK, body=guess, scope="project:own")
    limited.wait(1)
    proposed = limited.lessons.propose(new, by=LIMITED)
    assert not proposed.updated
    assert proposed.lesson_id != hidden.lesson_id
    assert proposed.created_at > hidden.created_at
    assert limited.lessons.propose(new, by=LIMITED).lesson_id == proposed.lesson_id
    assert limited.lessons.find("user", hidden.lesson_id).body == SECRET


@pytest.mark.promise("P-MEM-6")
@pytest.mark.parametrize("guess", [SECRET, "The PIN is 0815"])
def test_a_preview_of_capture_tells_nothing_of_a_hidden_lesson(
    limited: LessonHarness, guess: str
) -> None:
    origin = CaptureSource("src", "learnings_md", "learnings.md")
    entry = CaptureEntry("0", "Pin it", SECRET, "project:other")
    [caught] = CaptureService(limited.log, limited.engine).propose_page(origin, [entry]).caught
    asking = CaptureService(limited.log, limited.engine, actor=LIMITED.actor, preview=True)
    mine = CaptureSource("mine", "learnings_md", "learnings.md")
    tried = msgspec.structs.replace(entry, body=guess)
    [guessed] = asking.propose_page(mine, [tried]).caught
    assert not guessed.known
    assert guessed.lesson_id != caught.lesson_id


@pytest.mark.promise("P-MEM-6")
def test_the_same_text_has_another_id_in_another_log(
    harness: LessonHarness, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = harness.lessons.propose(PACK, by=USER)
    other = LessonHarness(tmp_path_factory.mktemp("other"))
    other.remember()
    other.log.purge([1], reason="another key", actor="user")
    second = other.lessons.propose(PACK, by=USER)
    other.close()
    assert first.lesson_id != second.lesson_id


@pytest.mark.promise("P-MEM-6")
def test_logging_a_phase_tells_nothing_of_another_hosts_task(limited: LessonHarness) -> None:
    limited.lessons.log_phase(LogPhase("task-1", "learn", SECRET), by=AGENT)
    assert limited.lessons.log_phase(LogPhase("task-1", "learn"), by=LIMITED)
    assert not limited.lessons.log_phase(LogPhase("task-1", "learn"), by=LIMITED)
    assert not limited.lessons.log_phase(LogPhase("task-1", "learn"), by=HELPER)
    own = limited.lessons.task_phases("task-1", LIMITED.actor)
    assert [(entry.phase, entry.note) for entry in own] == [("learn", "")]
    everybody = limited.lessons.task_phases("task-1")
    assert [(entry.phase, entry.note) for entry in everybody] == [("learn", SECRET)]


def test_a_phase_does_not_touch_a_workers_task_of_the_same_name(limited: LessonHarness) -> None:
    limited.lessons.log_phase(LogPhase("tsk-1", "learn"), by=LIMITED)
    with pytest.raises(NotFound):
        limited.engine.do(StartTask("tsk-1"), by=USER)
