"""The user's own login: an agent in the sandbox uses it, and changes nothing beside it."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.workers.isolation.test_sandbox import needs_bubblewrap
from tests.workers.test_claude import agents, hire

from everloop.adapters.runners import sandbox
from everloop.workers import Grants, Task, TaskSpec

ENDED = ("done", "failed", "uncertain")
LOGIN = {"accessToken": "sk-dummy", "refreshToken": "rt-dummy", "expiresAt": 4_102_444_800_000}


def home_with_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's configuration of Claude Code: a dummy login, settings, and a skill."""
    home = tmp_path / "user"
    own = home / ".claude"
    (own / "skills" / "mine").mkdir(parents=True)
    login = {**LOGIN, "scopes": ["user:inference"], "subscriptionType": "max"}
    (own / ".credentials.json").write_text(json.dumps({"claudeAiOauth": login}))
    (own / ".credentials.json").chmod(0o600)
    (own / "settings.json").write_text("{}")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return own


@needs_bubblewrap
def test_an_agent_that_skips_permissions_leaves_nothing_for_later_sessions_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks that it wrote there would run outside the sandbox, the next time the user works."""
    own = home_with_login(tmp_path, monkeypatch)
    before = sorted(path.relative_to(own) for path in own.rglob("*"))
    orders = f"""
        echo evil > {own}/settings.json; echo evil > {own}/CLAUDE.md; mkdir {own}/hooks
        echo evil > {own}/skills/mine/SKILL.md; ls -A {own}; echo evil > {own.parent}/.claude.json
    """
    bash = ("Bash", {"command": orders, "description": "Look around"})
    with agents(tmp_path, monkeypatch, [bash], ["Done."]) as (work, api):
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        grants = Grants(sandbox="required", skip_permissions=True)
        done = work.until(hire(work, grants=grants), *ENDED)
        assert (done.state, done.claim) == ("done", "Done."), done.reason
        assert ".credentials.json" in api.heard()
    assert sorted(path.relative_to(own) for path in own.rglob("*")) == before
    assert (own / "settings.json").read_text() == "{}"
    assert not (own.parent / ".claude.json").exists()


@needs_bubblewrap
def test_an_agent_in_the_sandbox_is_resumed_with_the_users_own_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home_with_login(tmp_path, monkeypatch)
    bash = ("Bash", {"command": "echo hello", "description": "Say hello"})
    with agents(tmp_path, monkeypatch, [bash], ["Said it."]) as (work, api):
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        name = hire(work, grants=Grants(sandbox="required"))
        work.until(name, "waiting", *ENDED)
        while work.task(name).attempt is not None:
            work.scheduler.tick()
        work.restart()
        work.answer("approve")
        assert work.until(name, *ENDED, "waiting").claim == "Said it."
        assert "hello" in api.heard()


@needs_bubblewrap
def test_the_settings_beside_another_agents_login_stay_as_they_are(tmp_path: Path) -> None:
    own = tmp_path / ".agent"
    (own / "plugins").mkdir(parents=True)
    (own / "config.toml").write_text("mine")
    (own / "auth.json").write_text("old")
    needs = sandbox.SandboxNeeds((tmp_path,), kept=sandbox.settings_in(own))
    orders = (
        "echo evil > config.toml; rm -rf config.toml; echo evil > plugins/x; echo new > auth.json"
    )
    task = Task("t1", TaskSpec("Do it", "Do it.", "mine", grants=Grants(sandbox="required")), 1)
    argv = sandbox.in_sandbox(task, ("sh", "-c", orders), needs)
    subprocess.run(argv, cwd=own, timeout=60, check=False, capture_output=True)  # noqa: S603
    assert (own / "config.toml").read_text() == "mine"
    assert list((own / "plugins").iterdir()) == []
    assert (own / "auth.json").read_text() == "new\n"
