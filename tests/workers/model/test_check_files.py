"""Which files a check depends on, and what a verdict says of them."""

import pytest

from everloop.log.model.event import decode
from everloop.testing.deterministic import given
from everloop.workers.model import commands as c
from everloop.workers.model import decide_attempts as a
from everloop.workers.model import events as e
from everloop.workers.model.check_files import (
    PROTECTED_PATHS,
    CheckFiles,
    compare_check_files,
    describe_check_files,
    is_check_file,
    script_of,
)
from everloop.workers.model.spec import TaskSpec
from everloop.workers.model.state import TASK

CHECKED = (
    e.TaskProposed("t1", TaskSpec("Fix", "Fix it.", "claude", check=("pytest", "-q"))),
    e.TaskStarted("t1", "run"),
    e.AttemptBegun("t1", 1, "run", "here", ""),
    e.AttemptEnded("t1", 1, "succeeded", 0, "", "", 1.0, 0),
    e.AttemptBegun("t1", 2, "check", "here", ""),
)
CHANGED = CheckFiles("changed", ("tests/test_a.py",), 1)


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_a.py",
        "tests/deep/data.json",
        "web/tests/a.ts",
        "src/conftest.py",
        "conftest.py",
        "Makefile",
        "sub/Makefile",
        ".github/workflows/ci.yml",
        "src/lib/a.test.ts",
        "pkg/a_test.go",
        "pyproject.toml",
    ],
)
def test_tests_and_what_configures_them_are_check_files(path: str) -> None:
    assert is_check_file(path, PROTECTED_PATHS)


@pytest.mark.parametrize("path", ["src/app.py", "tests", "latests/a.py", "docs/tests.md"])
def test_other_files_are_not(path: str) -> None:
    assert not is_check_file(path, PROTECTED_PATHS)


def test_the_script_of_a_check_is_one_of_its_files() -> None:
    assert script_of(("./ci/check.sh", "-v")) == ("ci/check.sh",)
    assert script_of(("sh", "check.sh")) == ("check.sh",)
    assert script_of(("sh", "-c", "true")) == ()
    assert script_of(("pytest", "-q", "out.txt")) == ()
    assert script_of(("/usr/bin/true",)) == ()


def test_files_that_were_changed_added_or_removed_are_named() -> None:
    found = compare_check_files({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9", "d": "4"})
    assert found == CheckFiles("changed", ("b", "c", "d"), 3)
    assert compare_check_files({"a": "1"}, {"a": "1"}) == CheckFiles("unchanged")
    assert compare_check_files(None, {}) == CheckFiles("unknown")


def test_a_path_that_would_deceive_is_shown_escaped() -> None:
    sentence = describe_check_files(CheckFiles("changed", ("tests/\u202egnp.py",), 1))
    assert "\u202e" not in sentence
    assert "\\u202e" in sentence


def test_the_comparison_is_on_record_before_the_check_ends_and_stands_in_its_verdict() -> None:
    command = c.CompareCheckFiles("t1", 2, CHANGED)
    compared = e.CheckFilesCompared("t1", 2, CHANGED)
    assert given(TASK, *CHECKED).when(a.compare_check_files, command) == [compared]
    assert given(TASK, *CHECKED, compared).when(a.compare_check_files, command) == []
    ended = given(TASK, *CHECKED, compared).when(
        a.end_attempt, c.EndAttempt("t1", 2, "succeeded", output_digest="d")
    )
    assert e.CheckRecorded("t1", 2, "pytest -q", 0, "d", True, CHANGED) in ended
    assert isinstance(ended[-1], e.ReviewRequested)  # passed, but somebody has to look


def test_a_check_whose_files_are_as_they_were_ends_the_task_by_itself() -> None:
    compared = e.CheckFilesCompared("t1", 2, CheckFiles("unchanged"))
    ended = given(TASK, *CHECKED, compared).when(a.end_attempt, c.EndAttempt("t1", 2, "succeeded"))
    assert isinstance(ended[-1], e.TaskDone)


def test_a_verdict_of_an_earlier_version_says_that_nothing_was_compared() -> None:
    data = (
        '{"task_id":"t1","attempt":2,"command":"pytest","exit_code":0,"output_digest":"d",'
        '"passed":true}'
    )
    old = decode("workers.check_recorded", 1, data)
    assert old == e.CheckRecorded("t1", 2, "pytest", 0, "d", True, CheckFiles("unknown"))


def test_what_a_worker_does_while_it_works_is_not_taken_for_the_comparison() -> None:
    facts = CHECKED[:3]
    command = c.CompareCheckFiles("t1", 1, CheckFiles("unchanged"))
    assert given(TASK, *facts).when(a.compare_check_files, command) == []
