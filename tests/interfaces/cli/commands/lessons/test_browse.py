"""Lessons and the gate on the command line."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.app import Engine
from everloop.lessons.model.commands import GiveFeedback, ProposeLesson, UseLesson
from everloop.lessons.model.events import MemoryEvidence
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.settings import load

AGENT = Context(actor="agent:a", session="s1")
OTHER = Context(actor="agent:b", session="s2")
WHY = ("--trigger", "A build.", "--failure", "A stale cache.", "--correction", "It was cleared.")
PASSES = (sys.executable, "-c", "print('all good')")
FAILS = (sys.executable, "-c", "print('\\x1b[2Jno'); raise SystemExit(3)")


@pytest.fixture
def school(everloop: CommandLine) -> CommandLine:
    """A data home with an agent's lesson that lacks only a narrative and support."""
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    everloop.home.mkdir(parents=True, exist_ok=True)
    (everloop.home / "settings.toml").write_text("[lessons]\nage_hours_min = 0\n")
    settings = load({}, home=str(everloop.home))
    with Engine.open(everloop.home, settings=settings) as engine:
        engine.do(RememberItem("mem-cache", "The build failed because the cache was stale."))
        new = ProposeLesson(
            "les-1", "Clear the cache", "Before a build.", evidence=(MemoryEvidence("mem-cache"),)
        )
        engine.lessons.propose(new, by=AGENT)
        for number, by in enumerate((AGENT, OTHER, AGENT)):
            engine.do(UseLesson("les-1", f"use-{number}"), by=by)
    return everloop


def checks(answer: Any) -> dict[str, bool]:
    """Each check of the gate, and whether it passed."""
    return {check["name"]: check["passed"] for check in answer["checks"]}


def test_the_gate_shows_what_each_check_found_and_what_would_satisfy_it(
    school: CommandLine,
) -> None:
    answer = school.typed("gate", "les-1")
    assert "Status: proposed. 7 of 9 requirements met." in answer.out
    assert "it is proposed" in answer.out  # the same word as in every list
    assert "let the user praise it, or a runner outside the agent try it" in answer.out
    document = school.typed("gate", "les-1", "--json").document
    assert document["open"] is False
    failed = [name for name, passed in checks(document).items() if not passed]
    assert failed == ["support", "narrative"]
    (lacking,) = document["checks"][6]["violations"]
    assert lacking["code"] == "missing-causal-narrative"
    assert lacking["satisfied_by"]


def test_a_lesson_is_promoted_after_positive_feedback_from_the_user(school: CommandLine) -> None:
    refused = school.typed("lessons", "promote", "les-1")
    assert refused.code == 2
    assert "Not approved yet: les-1. 7 of 9 requirements met." in refused.out
    assert "Reason explained" in refused.out
    assert "→ let the user praise it" in refused.out
    assert "missing-external-signal-sources" not in refused.out  # a code, for hosts
    assert school.typed("lessons", "narrate", "les-1", *WHY).code == 0
    assert "rated helpful" in school.typed("lessons", "feedback", "les-1", "--up").out
    assert "All requirements met" in school.typed("gate", "les-1").out
    assert "Approved" in school.typed("lessons", "promote", "les-1").out
    listed = school.typed("lessons", "--status", "approved", "--json").document
    assert [lesson["lesson_id"] for lesson in listed["lessons"]] == ["les-1"]


def test_positive_feedback_from_a_script_does_not_count(school: CommandLine) -> None:
    with Engine.open(school.home) as engine:
        mine = engine.lessons.propose(
            ProposeLesson("les-2", "Mine", "Mine."), by=Context(actor="agent:cli")
        )
    assert school("lessons", "feedback", mine.lesson_id, "--up").code == 0
    assert school("lessons", "promote", mine.lesson_id, "--json").document["passed"] is False
    shown = school.typed("gate", mine.lesson_id)
    assert "helped, reported as the user's" in shown.out
    assert "0 supporting signals" in shown.out
    assert school("lessons", "activate", mine.lesson_id).code == 5


def test_a_verdict_run_at_a_terminal_is_independent(school: CommandLine) -> None:
    answer = school.typed("lessons", "verdict", "les-1", "--", *PASSES)
    assert "passed" in answer.out
    assert "all good" in answer.err
    assert checks(school.typed("gate", "les-1", "--json").document)["support"]
    failed = school.typed("lessons", "verdict", "les-1", "--json", "--", *FAILS)
    assert failed.code == 0
    assert (failed.document["passed"], failed.document["exit_code"]) == (False, 3)
    assert "\x1b[2J" not in failed.err
    gate = school.typed("gate", "les-1")
    assert "the last verdict from outside failed" in gate.out
    assert "failed with exit code 3" in gate.out


def test_a_verdict_run_by_a_script_is_only_a_claim(school: CommandLine) -> None:
    proposed = school("lessons", "propose", "Mine", "--body", "All mine.", "--json").document
    lesson = proposed["lesson_id"]
    answer = school("lessons", "verdict", lesson, "--", *PASSES)
    assert "Recorded as a claim of agent:cli; it does not count towards promotion." in answer.out
    document = school("gate", lesson, "--json").document
    assert not checks(document)["support"]
    assert [verdict["outside"] for verdict in document["verdicts"]] == [False]
    assert "unconfirmed claim" in school("gate", lesson).out


def test_a_missing_program_records_no_verdict(school: CommandLine, tmp_path: Path) -> None:
    answer = school.typed("lessons", "verdict", "les-1", "--", str(tmp_path / "none"))
    assert answer.code == 2
    assert "cannot be run" in answer.err
    assert school.typed("gate", "les-1", "--json").document["verdicts"] == []


def test_a_killed_command_fails_with_the_exit_code_of_a_shell(school: CommandLine) -> None:
    ends = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    command = (sys.executable, "-c", ends)
    answer = school.typed("lessons", "verdict", "les-1", "--json", "--", *command)
    assert answer.document["exit_code"] == 137


def test_a_thumbs_down_counts_until_the_user_withdraws_it(school: CommandLine) -> None:
    with Engine.open(school.home) as engine:
        engine.lessons.feedback(GiveFeedback("les-1", False, "sig-down"), by=AGENT)
    assert "harmed, reported as the user's" in school.typed("gate", "les-1").out
    assert school("lessons", "withdraw", "les-1", "sig-down").code == 3  # not for its eyes
    assert school.typed("lessons", "withdraw", "les-1", "none").code == 3
    assert school.typed("lessons", "withdraw", "les-1", "sig-down").code == 0
    document = school.typed("gate", "les-1", "--json").document
    assert checks(document)["blame"]
    assert [signal["open"] for signal in document["signals"]] == [False]
    assert "harmed, withdrawn" in school.typed("gate", "les-1").out


def test_a_lesson_is_proposed_with_a_memory_and_a_quote(school: CommandLine) -> None:
    words = ("--cites", "mem-cache", "--quote", "the cache was stale", "--quote", "made up")
    done = school.typed("lessons", "propose", "Look", "--body", "-", *words, answers="At it.\n")
    assert "Proposed" in done.out
    (shown,) = school.typed("lessons", "recall", "look", "--json").document["hits"]
    assert (shown["lesson"]["author"], shown["lesson"]["body"]) == ("user", "At it.")
    assert [each.get("found_in") for each in shown["lesson"]["evidence"]] == [None, "mem-cache", ""]
    drawn = school.typed("lessons", "show", shown["lesson"]["lesson_id"]).out
    assert "“the cache was stale” (mem-cache)" in drawn
    assert "“made up” (not found)" in drawn
    assert school.typed("lessons", "propose", "x", "--body", "y", "--cites", "none").code == 3


def test_an_edit_reports_whether_the_text_changed(school: CommandLine) -> None:
    assert school.typed("lessons", "edit", "les-1").code == 2
    assert "was updated" in school.typed("lessons", "edit", "les-1", "--body", "Now.").out
    assert "is unchanged" in school.typed("lessons", "edit", "les-1", "--body", "Now.").out
    assert not checks(school.typed("gate", "les-1", "--json").document)["uses"]


def test_a_narrative_needs_all_of_its_parts(school: CommandLine) -> None:
    assert school.typed("lessons", "narrate", "les-1", *WHY[:2]).code == 2
    assert school.typed("lessons", "narrate", "les-1", "--cites", "mem-cache").code == 2
    observed = ("--confidence", "observed", "--cites", "mem-cache")
    assert school.typed("lessons", "narrate", "les-1", *WHY, *observed).code == 0
    shown = school.typed("lessons", "show", "les-1").out
    assert "A stale cache." in shown
    assert "observed" in shown


def test_a_lesson_is_activated_used_superseded_and_discarded(school: CommandLine) -> None:
    assert "is active" in school.typed("lessons", "activate", "les-1").out
    assert "4 uses" in school.typed("lessons", "use", "les-1", "--use-id", "mine").out
    own = school.typed("lessons", "propose", "Better", "--body", "b", "--json").document
    assert school.typed("lessons", "supersede", "les-1", "les-1").code == 4
    assert school.typed("lessons", "supersede", "les-1", own["lesson_id"]).code == 0
    assert school.typed("lessons", "discard", own["lesson_id"]).code == 5
    gone = school.typed("lessons", "discard", own["lesson_id"], "--force", "--reason", "no")
    assert "was discarded" in gone.out
    assert "les-1" in school.typed("lessons").out
    assert own["lesson_id"] not in school.typed("lessons").out


def test_lessons_are_listed_by_page_and_as_another_user_sees_them(school: CommandLine) -> None:
    school.typed("lessons", "propose", "Another", "--body", "b")
    first = school.typed("lessons", "-n", "1")
    assert "1 more: --page 2" in first.out
    assert "more" not in school.typed("lessons", "-n", "1", "--page", "2").out
    assert school.typed("lessons", "--json").document["total"] == 2
    assert school.typed("lessons", "--for", "agent:a", "--json").document["total"] == 1
    nobody = school("lessons")
    assert nobody.code == 5
    assert nobody.err.startswith("error: agent:cli has no access to memory")
    assert school("lessons", "--for", "user").code == 5
    assert school("gate", "les-1").code == 3
    assert "No matches." in school.typed("lessons", "recall", "zebra").out


def test_stale_lessons_are_listed_with_a_request_for_feedback(school: CommandLine) -> None:
    assert "No lessons need feedback" in school.typed("lessons", "stale").out
    school.environment["EVERLOOP_LESSONS_STALE_DAYS"] = "0"
    school.typed("lessons", "activate", "les-1")
    assert "To rate one:" in school.typed("lessons", "stale").out
    document = school.typed("lessons", "stale", "--json").document
    assert [each["reason"] for each in document["stale"]] == ["none"]


def test_control_characters_in_a_lesson_are_escaped(school: CommandLine) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07[red]Approved[/red]"
    lesson = school.typed("lessons", "propose", evil, "--body", evil, "--json").document
    for words in (("lessons",), ("lessons", "show", lesson["lesson_id"]), ("gate", "les-1")):
        assert "\x1b]0" not in school.typed(*words).out
    assert "[red]" in school.typed("lessons", "show", lesson["lesson_id"]).out


def blamed(everloop: CommandLine) -> str:
    """Propose a lesson, report a thumbs-down as the user's, and return its position."""
    proposed = everloop("lessons", "propose", "Pipe it", "--body", "Into a shell.", "--json")
    lesson = proposed.document["lesson_id"]
    everloop("log", "fork", "early")
    everloop("lessons", "feedback", lesson, "--down")
    facts = everloop.typed("log", "tail", "--json").document
    return next(str(fact["position"]) for fact in facts if fact["kind"].endswith("feedback_given"))


@pytest.mark.parametrize("verb", ["retract", "purge"])
def test_a_script_cannot_retract_a_reported_thumbs_down(everloop: CommandLine, verb: str) -> None:
    position = blamed(everloop)
    assert everloop("log", verb, position, "--yes").code == 5
    assert everloop.typed("log", verb, position, "--yes").code == 0


def test_a_script_cannot_switch_to_a_branch_that_hides_a_thumbs_down(everloop: CommandLine) -> None:
    position = blamed(everloop)
    assert everloop("log", "stand", "early").code == 5
    assert everloop("log", "rewind", str(int(position) - 1), "--yes").code == 5
    assert everloop.typed("log", "stand", "early").code == 0
