"""`everloop work` and `everloop tasks`."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    """A command line with a data home of its own."""
    return CommandLine(tmp_path)


def test_a_task_is_started_shown_and_cancelled(line: CommandLine) -> None:
    assert "No tasks yet" in line.typed("tasks").out
    started = line.typed("work", "--json", "--command", "ls", "-l").document
    assert (started["state"], started["title"]) == ("approved", "ls -l")
    name = started["task_id"]
    assert "At work" in line.typed("tasks").out
    assert "ls -l" in line.typed("tasks", "show", name).out
    assert line.typed("tasks", "cancel", name, "--json").document["state"] == "cancelled"
    assert line.typed("tasks", "retry", name).code == 0
    assert line.typed("tasks", "steer", name, "hello").code == 2
    assert line.typed("tasks", "show", "nothing").code == 3


def test_what_workers_showed_is_searched_by_the_user(line: CommandLine) -> None:
    assert "Nothing found" in line.typed("tasks", "search", "flaky clock").out
    assert line.typed("tasks", "search", "flaky clock", "--json").document == {"hits": []}
    assert line("tasks", "search", "flaky").code == 5


@pytest.mark.promise("P-WORK-1")
def test_a_script_proposes_and_the_user_starts(line: CommandLine) -> None:
    proposed = line("work", "Fix the flaky test", "--plan", "--json").document
    assert proposed["state"] == "proposed"
    name = proposed["task_id"]
    assert line("tasks", "start", name).code == 5
    (request,) = line.typed("inbox", "--json").document["needs_you"]
    assert (request["kind"], request["subject"]) == ("proposal", f"task:{name}")
    assert line.typed("tasks", "start", name, "--json").document["step"] == "plan"
    assert line.typed("inbox", "--json").document["needs_you"] == []


def test_an_issue_of_a_known_repository_is_asked_for(line: CommandLine, tmp_path: Path) -> None:
    refused = line.typed("work", "--issue", "octo/shop#12")
    assert (refused.code, "not in the settings" in refused.err) == (2, True)
    home = tmp_path / "home" if (tmp_path / "home").exists() else tmp_path
    written = f'[github.repositories.shop]\nname = "octo/shop"\npath = "{tmp_path}"\n'
    (home / "settings.toml").write_text(written)
    asked = line.typed("work", "--issue", "octo/shop#12", "--json").document
    assert asked == {"repository": "octo/shop", "number": 12}
    assert line("work", "--issue", "octo/shop#13").code == 0
    assert line.typed("work", "Do it", "--issue", "octo/shop#14").code == 2
    assert line.typed("work", "--issue", "12").code == 2
    assert line.typed("tasks", "--json").document["proposed"] == []
