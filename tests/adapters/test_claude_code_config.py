"""Claude Code's files: ours goes in and out, and what others wrote stays as it is."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from everloop.adapters.claude_code_config import (
    HOOKS,
    ConfigChange,
    ConfigFiles,
    config_files,
    plan_install,
    plan_uninstall,
)
from everloop.errors import Conflict, Invalid, Unavailable

COMMAND = ["/opt/bin/everloop", "--home", "/data/of mine"]
THEIRS: dict[str, Any] = {
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}],
    },
    "permissions": {"allow": ["Read"]},
}


@pytest.fixture
def where(tmp_path: Path) -> ConfigFiles:
    return config_files("user", home=tmp_path, project=tmp_path / "elsewhere")


def _write(changes: list[ConfigChange]) -> None:
    for change in changes:
        change.write()


def _json(path: Path) -> Any:
    return json.loads(path.read_text())


def test_each_scope_has_its_files(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    assert config_files("user", home=home, project=project) == ConfigFiles(
        home / ".claude.json", home / ".claude" / "settings.json"
    )
    assert config_files("project", home=home, project=project) == ConfigFiles(
        project / ".mcp.json", project / ".claude" / "settings.json"
    )


def test_installing_from_scratch_writes_the_server_and_every_hook(where: ConfigFiles) -> None:
    _write(plan_install(where, COMMAND))
    server = _json(where.servers)["mcpServers"]["everloop"]
    assert server["command"] == "/opt/bin/everloop"
    assert server["args"] == ["--home", "/data/of mine", "mcp", "--as", "claude-code"]
    hooks = _json(where.settings)["hooks"]
    assert set(hooks) == set(HOOKS)
    ours = hooks["UserPromptSubmit"][0]["hooks"][0]
    assert ours["command"] == "/opt/bin/everloop --home '/data/of mine' hook prompt"


def test_installing_twice_changes_nothing_the_second_time(where: ConfigFiles) -> None:
    _write(plan_install(where, COMMAND))
    assert plan_install(where, COMMAND) == []


def test_our_hook_keeps_its_place_before_later_ones(where: ConfigFiles) -> None:
    _write(plan_install(where, COMMAND))
    settings = _json(where.settings)
    settings["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "say done"}]})
    where.settings.write_text(json.dumps(settings, indent=2) + "\n")
    assert plan_install(where, COMMAND) == []


@pytest.mark.promise("P-HOST-1")
def test_other_settings_stay_and_uninstalling_restores_the_file(where: ConfigFiles) -> None:
    where.settings.parent.mkdir()
    text = json.dumps(THEIRS, indent=4)  # four spaces, and no newline at the end
    where.settings.write_text(text)
    _write(plan_install(where, COMMAND))
    mixed = _json(where.settings)
    assert mixed["hooks"]["PreToolUse"] == THEIRS["hooks"]["PreToolUse"]
    assert mixed["hooks"]["Stop"][0] == THEIRS["hooks"]["Stop"][0]
    assert list(mixed)[:1] == ["model"]
    _write(plan_uninstall(where))
    assert where.settings.read_text() == text
    assert not where.servers.exists()


def test_an_older_command_of_ours_is_replaced(where: ConfigFiles) -> None:
    _write(plan_install(where, ["everloop"]))
    _write(plan_install(where, COMMAND))
    for groups in _json(where.settings)["hooks"].values():
        assert len(groups) == 1


def test_uninstalling_removes_only_our_hook_from_a_shared_group(where: ConfigFiles) -> None:
    where.settings.parent.mkdir()
    both = [{"command": "everloop hook stop"}, {"command": "say done"}]
    where.settings.write_text(json.dumps({"hooks": {"Stop": [{"matcher": "", "hooks": both}]}}))
    _write(plan_uninstall(where))
    assert _json(where.settings)["hooks"]["Stop"] == [{"matcher": "", "hooks": both[1:]}]


def test_a_similar_hook_of_others_stays(where: ConfigFiles) -> None:
    where.settings.parent.mkdir()
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"command": "everloop backup"}, 7]}, "odd"]}})
    where.settings.write_text(text)
    assert plan_uninstall(where) == []


def test_a_server_of_another_name_stays(where: ConfigFiles) -> None:
    where.servers.write_text('{"mcpServers": {"other": {"command": "x"}}, "numStartups": 7}')
    _write(plan_install(where, COMMAND))
    _write(plan_uninstall(where))
    assert _json(where.servers) == {"mcpServers": {"other": {"command": "x"}}, "numStartups": 7}


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}'])
def test_an_invalid_file_is_left_alone(where: ConfigFiles, text: str) -> None:
    where.settings.parent.mkdir()
    where.settings.write_text(text)
    with pytest.raises(Invalid):
        plan_install(where, COMMAND)
    assert where.settings.read_text() == text
    assert not where.servers.exists()


def test_a_file_that_is_not_text_is_left_alone(where: ConfigFiles) -> None:
    where.servers.write_bytes(b"\xff\xfe")
    with pytest.raises(Invalid, match="not UTF-8 text"):
        plan_install(where, COMMAND)


def test_a_file_that_changed_since_the_diff_was_shown_is_not_overwritten(
    where: ConfigFiles,
) -> None:
    planned = plan_install(where, COMMAND)
    where.servers.write_text('{"numStartups": 8}')
    with pytest.raises(Conflict):
        planned[0].write()
    assert _json(where.servers) == {"numStartups": 8}


def test_a_link_stays_a_link_and_permissions_stay(where: ConfigFiles, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    where.settings.parent.mkdir()
    where.settings.symlink_to(real)
    _write(plan_install(where, COMMAND))
    assert where.settings.is_symlink()
    assert "hooks" in _json(real)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_folder_in_place_of_a_file_is_unavailable(where: ConfigFiles) -> None:
    where.servers.mkdir()
    with pytest.raises(Unavailable):
        plan_install(where, COMMAND)


def test_the_diff_shows_what_is_added(where: ConfigFiles) -> None:
    where.servers.write_text('{\n  "numStartups": 7\n}\n')
    lines = plan_install(where, COMMAND)[0].diff
    assert any(line.startswith("+") and '"everloop"' in line for line in lines)
    assert not any(line.startswith("-") and "numStartups" in line and "," in line for line in lines)


def test_an_unwritable_folder_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="cannot be written"):
        ConfigChange(Path("/proc/everloop.json"), None, "{}").write()
