"""`everloop service`, with stand-ins for systemd's programs."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine

PROGRAM = """#!/bin/sh
echo "${0##*/} $*" >> "${0%/*}/ran"
case "$*" in *show*) echo ActiveState=active;; esac
"""


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What was run of systemd's programs; they and the home folder are the test's own."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("systemctl", "loginctl", "journalctl"):
        (programs / name).write_text(PROGRAM)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    return programs / "ran"


def test_the_unit_is_shown_before_it_is_written(
    everloop: CommandLine, ran: Path, tmp_path: Path
) -> None:
    unit = tmp_path / ".config/systemd/user/everloop.service"
    declined = everloop.typed("service", "install", answers="n\n")
    assert "ExecStart=" in declined.err
    assert str(everloop.home) in declined.err.replace("\n", "")
    assert not unit.exists()
    assert not ran.exists()
    agreed = everloop.typed("service", "install", answers="y\n")
    assert agreed.code == 0
    assert "everloop pair" in agreed.out
    assert "Restart=always" in unit.read_text()
    assert "systemctl --user enable everloop.service" in ran.read_text()
    assert everloop.typed("service", "status", "--json").document["running"] is True
    assert everloop.typed("service", "logs", "-n", "5").code == 0
    assert "--lines=5" in ran.read_text()


def test_removing_it_stops_it_and_deletes_the_unit(
    everloop: CommandLine, ran: Path, tmp_path: Path
) -> None:
    assert everloop.typed("service", "remove").code == 3
    everloop.typed("service", "install", "--yes")
    assert everloop.typed("service", "remove", answers="y\n").code == 0
    assert not list((tmp_path / ".config/systemd/user").iterdir())
    assert "disable --now everloop.service" in ran.read_text()


@pytest.mark.promise("P-REACH-2")
@pytest.mark.parametrize("words", ["install --yes", "remove --yes", "logs"])
def test_a_script_neither_installs_nor_removes_the_service(
    everloop: CommandLine, ran: Path, words: str
) -> None:
    refused = everloop("service", *words.split())
    assert refused.code == 5
    assert "at a terminal" in refused.err
    assert not ran.exists()
