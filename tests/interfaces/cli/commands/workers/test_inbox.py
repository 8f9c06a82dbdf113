"""`everloop inbox`."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.app import USER, Engine
from everloop.inbox import Choice, Question, RaiseRequest
from everloop.lessons.model.commands import ActivateLesson, ProposeLesson
from everloop.lessons.settings import LessonSettings
from everloop.log import Context
from everloop.reactions.stale_lessons import StaleLessonsTask
from everloop.settings import Settings

COLOUR = Question("q1", "Colour", "Which colour?", (Choice("red", "Red"), Choice("blue", "Blue")))


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    """A command line whose inbox has an approval and a form."""
    with Engine.open(tmp_path) as engine:
        worker = Context(actor="worker:t1")
        choices = (Choice("approve", "Approve"), Choice("deny", "Deny"))
        engine.do(RaiseRequest("r1", "approval", "Run `ls`?", "ls -l", choices), by=worker)
        form = RaiseRequest(
            "r2", "question", "A question", "", (Choice("answer", "Send"),), (COLOUR,)
        )
        engine.do(form, by=worker)
    return CommandLine(tmp_path)


def ask_about_stale_lesson(home: Path, name: str) -> None:
    """Have a lesson that nobody rates, and ask about it."""
    settings = Settings(lessons=LessonSettings(stale_days=0))
    with Engine.open(home, settings=settings) as engine:
        engine.do(ProposeLesson(name, "Run the tests", "Before each commit."), by=USER)
        engine.do(ActivateLesson(name), by=USER)
        StaleLessonsTask(engine.log, engine, engine.lessons).look()


def test_the_inbox_lists_what_needs_the_user(line: CommandLine) -> None:
    shown = line.typed("inbox").out
    assert "Needs you" in shown
    assert "Run `ls`?" in shown
    listed = line.typed("inbox", "--json").document
    assert [one["request_id"] for one in listed["needs_you"]] == ["r2", "r1"]
    assert listed["unread"] == 2


def test_an_empty_inbox_says_so(tmp_path: Path) -> None:
    assert "Nothing needs you." in CommandLine(tmp_path).typed("inbox").out


def test_a_request_is_shown_and_answered_once(line: CommandLine) -> None:
    assert "ls -l" in line.typed("inbox", "show", "r1").out
    answered = line.typed("inbox", "answer", "r1", "approve", answers="y\n")
    assert (answered.code, "Answered" in answered.out) == (0, True)
    again = line.typed("--yes", "inbox", "answer", "r1", "deny")
    assert (again.code, "answered with 'Approve' by user on a terminal" in again.err) == (4, True)
    assert "answered with 'approve' by user" in line.typed("inbox", "show", "r1").out


def test_declining_the_confirmation_answers_nothing(line: CommandLine) -> None:
    line.typed("inbox", "answer", "r1", "approve", answers="n\n")
    assert line.typed("inbox", "show", "r1", "--json").document["closing"] is None


def test_a_form_is_answered_by_label_or_free_text(line: CommandLine) -> None:
    wrong = line.typed("--yes", "inbox", "answer", "r2", "--answer", "q9=red")
    assert (wrong.code, "answers no question" in wrong.err) == (2, True)
    done = line.typed("--yes", "inbox", "answer", "r2", "--answer", "q1=Blue", "--json")
    assert done.document["closing"]["choice"] == "answer"


@pytest.mark.promise("P-INBOX-2")
def test_a_script_can_neither_read_nor_answer_the_inbox(line: CommandLine) -> None:
    assert line("inbox").code == 5
    assert line("--yes", "inbox", "answer", "r1", "approve").code == 5
    assert line("inbox", "read").code == 5


def test_a_request_is_put_off_and_marked_as_read(line: CommandLine) -> None:
    assert line.typed("inbox", "snooze", "r1", "2199-01-01").code == 0
    assert "Snoozed" in line.typed("inbox").out
    assert line.typed("inbox", "read", "r2").code == 0
    assert line.typed("inbox", "read", "--json").document == {"read": 0}


def test_a_stale_lesson_says_how_to_open_it_and_is_discarded_by_the_answer(tmp_path: Path) -> None:
    ask_about_stale_lesson(tmp_path, "les-1")
    line = CommandLine(tmp_path)
    (asked,) = line.typed("inbox", "--json").document["needs_you"]
    shown = line.typed("inbox", "show", asked["request_id"]).out
    assert "everloop lessons show les-1" in shown
    assert ("Keep it" in shown, "Discard it" in shown) == (True, True)
    assert line.typed("--yes", "inbox", "answer", asked["request_id"], "discard").code == 0
    receipt = line.typed("inbox", "show", asked["request_id"]).out
    assert "answered with 'discard' by user on a terminal" in receipt
    assert line.typed("lessons", "show", "les-1", "--json").document["status"] == "discarded"
