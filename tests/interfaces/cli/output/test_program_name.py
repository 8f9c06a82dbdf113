"""Hints name the program as the user started it."""

import io
import sys
from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import Terminal

from everloop.interfaces.cli.entry import run
from everloop.interfaces.cli.output.program_name import name_commands, started_program
from everloop.interfaces.cli.streams import Streams


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in a virtual environment below the current folder."""
    path = tmp_path / ".venv" / "bin" / "everloop"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    return path


def test_a_program_on_the_path_has_its_name(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent))
    assert started_program(str(script)) == "everloop"


def test_a_program_below_the_current_folder_has_its_path_from_there(script: Path) -> None:
    assert started_program(str(script)) == ".venv/bin/everloop"


def test_a_program_elsewhere_has_its_whole_path(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert started_program(str(script)) == str(script)


@pytest.mark.usefixtures("script")
def test_a_module_is_named_with_its_interpreter() -> None:
    assert started_program("/src/everloop/__main__.py") == f"{sys.executable} -m everloop"


def test_only_commands_are_renamed() -> None:
    text = "Run `everloop grants list`, not pip install 'everloop[serve]' or my-everloop x."
    named = name_commands(text, ".venv/bin/everloop")
    assert named == text.replace("`everloop", "`.venv/bin/everloop")


def test_errors_and_advice_name_the_program(tmp_path: Path) -> None:
    environment = {"EVERLOOP_HOME": str(tmp_path), "EVERLOOP_MEMORY_EMBEDDER": "none"}

    def said(*words: str, stdin: io.StringIO) -> str:
        out, err = io.StringIO(), io.StringIO()
        run(words, Streams(stdin, out, err, environment, ".venv/bin/everloop"))
        return out.getvalue() + err.getvalue()

    assert "Run `.venv/bin/everloop remember TEXT`" in said("memories", stdin=Terminal())
    assert ": .venv/bin/everloop work" in said("tasks", stdin=Terminal())
    assert ": .venv/bin/everloop grants allow agent:cli" in said("recall", "x", stdin=io.StringIO())
    said("remember", "everloop serve is slow", stdin=Terminal())
    assert "everloop serve is slow" in said("memories", stdin=Terminal())  # not ours to change
    assert ".venv/bin/everloop serve" not in said("memories", stdin=Terminal())
