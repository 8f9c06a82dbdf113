"""A log on a read-only disk can be read; writing says why it cannot."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.cli.commandline import CommandLine
from tests.mounted import make_read_only, mounted

SAID = "The garden gate is green."


@pytest.fixture
def read_only(everloop: CommandLine) -> Generator[CommandLine]:
    """A data home with a memory, which can no longer be written."""
    home = everloop.home
    if os.geteuid():  # pragma: no cover - as root, permissions of a folder do not count
        everloop.typed("remember", SAID)
        home.chmod(0o555)
        yield everloop
        home.chmod(0o700)
        return
    with mounted(home, 64):
        everloop.typed("remember", SAID)
        make_read_only(home)
        yield everloop


def test_a_read_only_disk_is_read(read_only: CommandLine, tmp_path: Path) -> None:
    read_only.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    out = tmp_path / "out.jsonl"
    for words in (("recall", "garden gate"), ("log", "show", "1"), ("memories",)):
        answer = read_only.typed(*words)
        assert answer.code == 0
        assert "green" in answer.out
        assert "Only reading: everloop.db cannot be written" in " ".join(answer.err.split())
    assert read_only.typed("log", "export", str(out), "--yes").code == 0
    assert "green" in out.read_text()


def test_writing_on_a_read_only_disk_says_why_not(read_only: CommandLine) -> None:
    refused = read_only.typed("remember", "Something else.")
    assert refused.code != 0
    assert "cannot be written: its folder is read-only" in " ".join(refused.err.split())


def test_files_that_others_could_read_are_made_private(everloop: CommandLine) -> None:
    everloop.typed("remember", SAID)
    log = everloop.home / "everloop.db"
    log.chmod(0o644)
    told = everloop.typed("doctor", "--json").document
    assert log.stat().st_mode & 0o777 == 0o600
    assert any("could read everloop.db" in each["words"] for each in _findings(told))
    again = everloop.typed("doctor", "--json").document
    assert not any("could read" in each["words"] for each in _findings(again))


def _findings(document: Any) -> list[dict[str, str]]:
    return list(document["findings"])
