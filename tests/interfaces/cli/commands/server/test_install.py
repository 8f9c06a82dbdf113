"""`everloop install claude-code`: previewed, confirmed, and reversible."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.cli.commandline import CommandLine


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary home and project, so that no real file is changed."""
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def _json(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.promise("P-HOST-1")
def test_install_shows_the_diff_and_declining_changes_nothing(
    everloop: CommandLine, place: Path
) -> None:
    answer = everloop.typed("install", "claude-code", answers="n\n")
    assert answer.code == 1
    assert "UserPromptSubmit" in answer.err
    assert "Apply these changes? [y/N]" in answer.err
    assert not (place / ".claude.json").exists()
    assert not (place / ".claude").exists()


def test_confirming_writes_both_files_and_confirming_again_trusts_the_host(
    everloop: CommandLine, place: Path
) -> None:
    answer = everloop.typed("install", "claude-code", answers="y\ny\n")
    assert answer.code == 0
    args = _json(place / ".claude.json")["mcpServers"]["everloop"]["args"]
    assert args[-3:] == ["mcp", "--as", "claude-code"]
    assert str(everloop.home) in args  # this is not the usual data home
    assert set(_json(place / ".claude" / "settings.json")["hooks"]) == {
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "SessionEnd",
    }
    assert everloop.typed("--json", "hosts").document[0]["trusted"] is True


def test_the_host_is_trusted_only_if_the_user_confirms_it(
    everloop: CommandLine, place: Path
) -> None:
    answer = everloop.typed("install", "claude-code", answers="y\nn\n")
    assert "everloop hosts trust claude-code" in answer.out
    assert everloop.typed("--json", "hosts").document == []
    assert (place / ".claude.json").exists()


def test_a_user_who_declined_trust_is_not_asked_again(everloop: CommandLine, place: Path) -> None:
    del place
    first = everloop.typed("install", "claude-code", answers="y\nn\n")
    assert "Not trusted." in first.err
    again = everloop.typed("install", "claude-code", answers="y\ny\n")
    assert "Trust claude-code?" not in again.err
    assert "everloop hosts trust claude-code" in again.out


def test_yes_without_a_terminal_installs_but_trusts_no_host(
    everloop: CommandLine, place: Path
) -> None:
    done = everloop("--json", "--yes", "install", "claude-code", "--scope", "project").document
    assert done["trusted"] is False
    assert len(done["changed"]) == 2
    server = _json(place / "project" / ".mcp.json")["mcpServers"]["everloop"]
    assert server["command"] == "everloop"  # a shared file names no place of ours
    assert server["args"] == ["mcp", "--as", "claude-code"]
    assert everloop.typed("--json", "hosts").document == []


def test_install_is_refused_without_a_terminal_and_without_yes(
    everloop: CommandLine, place: Path
) -> None:
    assert everloop("install", "claude-code").code == 2
    assert not (place / ".claude.json").exists()


def test_yes_at_a_terminal_trusts_no_host_either(everloop: CommandLine, place: Path) -> None:
    assert everloop.typed("--yes", "install", "claude-code").code == 0
    assert everloop.typed("--json", "hosts").document == []
    assert (place / ".claude.json").exists()


def test_a_trusted_host_is_not_asked_about_again(everloop: CommandLine, place: Path) -> None:
    del place
    everloop.typed("install", "claude-code", answers="y\ny\n")
    again = everloop.typed("install", "claude-code")
    assert "No changes needed" in again.out
    assert "Trust" not in again.err


@pytest.mark.promise("P-HOST-1")
def test_uninstall_restores_the_original_files(everloop: CommandLine, place: Path) -> None:
    servers = place / ".claude.json"
    servers.write_text('{\n  "numStartups": 3\n}\n')
    before = servers.read_text()
    everloop("--yes", "install", "claude-code")
    assert servers.read_text() != before
    answer = everloop.typed("install", "claude-code", "--uninstall", answers="y\n")
    assert "Removed from" in answer.out
    assert servers.read_text() == before
    assert not (place / ".claude" / "settings.json").exists()


def test_uninstall_reports_that_the_host_is_still_trusted(
    everloop: CommandLine, place: Path
) -> None:
    del place
    everloop.typed("install", "claude-code", answers="y\ny\n")
    answer = everloop.typed("install", "claude-code", "--uninstall", answers="y\n")
    assert "everloop hosts distrust claude-code" in answer.out


def test_uninstall_without_install_creates_no_data_home(everloop: CommandLine, place: Path) -> None:
    del place
    assert "No changes needed" in everloop.typed("install", "claude-code", "--uninstall").out
    assert not everloop.home.exists()


def test_a_broken_settings_file_is_not_changed(everloop: CommandLine, place: Path) -> None:
    (place / ".claude.json").write_text("{ not json")
    answer = everloop("--yes", "install", "claude-code")
    assert answer.code == 2
    assert "is not JSON" in answer.err
    assert (place / ".claude.json").read_text() == "{ not json"


@pytest.mark.promise("P-CLI-5")
def test_only_a_user_who_installs_a_host_lets_it_in(everloop: CommandLine, place: Path) -> None:
    del place
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    everloop.typed("remember", "The kettle whistles at noon.")
    by_script = everloop("--yes", "install", "claude-code")
    assert "grants allow agent:claude-code" in " ".join(by_script.out.split())
    asked = json.dumps({"session_id": "s-1", "prompt": "When does the kettle whistle?"})
    refused = everloop("hook", "prompt", piped=asked)
    assert (refused.code, refused.out) == (0, "")
    assert "grants allow agent:claude-code" in " ".join(refused.err.split())
    everloop.typed("--yes", "install", "claude-code")
    assert "at noon" in everloop("hook", "prompt", piped=asked).out
