"""Where no sandbox is in use, an agent that reads outside its workspace asks first."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.workers.rig import Rig
from tests.workers.test_acp import Turn, agent, notes
from tests.workers.test_acp import hire as hire_acp
from tests.workers.test_claude import agents
from tests.workers.test_claude import hire as hire_claude

from everloop.adapters.runners import sandbox
from everloop.adapters.runners.path_permissions import PathPermissions
from everloop.workers import Grants, Workspace

ENDED = ("done", "failed", "uncertain")


def place_with_links(tmp_path: Path) -> tuple[Path, Path]:
    """A workspace with links that lead out of it, and a secret beside it."""
    secret = tmp_path / "secret.txt"
    secret.write_text("qx-secret")
    place = tmp_path / "place"
    (place / "deep" / "deeper" / "deepest").mkdir(parents=True)
    (place / "page.txt").write_text("inside")
    (place / "link").symlink_to(secret)
    (place / "folder").symlink_to(tmp_path)
    (place / "down").symlink_to("deep/deeper/deepest")
    return place, secret


def permissions(place: Path, *, sandboxed: bool = False) -> PathPermissions:
    """What an agent in this workspace reaches."""
    private = [str(place.parent / "temporary")]
    order = {"cwd": str(place), "private": private, "sandboxed": sandboxed}
    return PathPermissions({**order, "withheld": [str(place.parent / "login")]})


@pytest.mark.parametrize(
    "path",
    [
        "{}/secret.txt",
        "../secret.txt",
        "deep/../../secret.txt",
        "link",
        "folder/secret.txt",
        "down/../../../secret.txt",  # out of it for a program that takes `..` off before links
        "folder/place/../secret.txt",
        " {}/secret.txt",  # Claude Code takes the blank off
        "{}/secret.txt\n",
        "~/.ssh/id_ed25519",
        "{}/place-of-another/x",
        "page\0.txt",
        "/",
    ],
)
def test_a_path_that_leads_out_of_the_workspace_is_not_free(tmp_path: Path, path: str) -> None:
    place, _ = place_with_links(tmp_path)
    given = path.format(tmp_path)
    assert not permissions(place).may_read([given])
    assert not permissions(place).may_edit([given])
    assert not permissions(place).may_call({"file_path": given}, [given])


@pytest.mark.parametrize(
    "path", ["page.txt", "{}/place/page.txt", "new/one.txt", "deep/../page.txt"]
)
def test_a_path_in_the_workspace_is_free(tmp_path: Path, path: str) -> None:
    place, _ = place_with_links(tmp_path)
    given = path.format(tmp_path)
    assert permissions(place).may_read([given])
    assert permissions(place).may_edit([given])
    assert permissions(place).may_call({"file_path": given}, [])


def test_no_path_is_the_workspace_and_temporary_files_are_free_to_read_alone(
    tmp_path: Path,
) -> None:
    place, _ = place_with_links(tmp_path)
    own = str(tmp_path / "temporary" / "notes.txt")
    assert permissions(place).may_read([])
    assert permissions(place).may_read([own])
    assert not permissions(place).may_edit([own])
    assert not permissions(place).may_edit([])


@pytest.mark.parametrize(
    ("pattern", "folder", "free"),
    [
        ("**/*.py", "", True),
        ("{{a,b}}/*.py", "", True),
        ("*", "deep", True),
        ("{0}/place/**", "", True),
        ("{0}/*.txt", "", False),
        ("/**", "", False),
        ("../*", "", False),
        ("*/../../*", "", False),
        ("folder/*", "", False),
        ("~/.ssh/*", "", False),
        ("{{page.txt,/etc/passwd}}", "", False),
        (" {0}/*", "", False),
        ("*", "{0}", False),
        ("*", "folder", False),
        (["/etc/*"], "", False),
    ],
)
def test_a_pattern_is_free_if_it_stays_in_the_workspace(
    tmp_path: Path, pattern: Any, folder: str, free: bool
) -> None:
    place, _ = place_with_links(tmp_path)
    given = pattern.format(tmp_path) if isinstance(pattern, str) else pattern
    assert permissions(place).may_search(given, folder.format(tmp_path)) is free


@pytest.mark.parametrize(
    "path", [".git/config", "deep/.git/hooks/pre-commit", ".git", "down/../.git"]
)
def test_what_git_keeps_is_read_freely_and_changed_only_with_an_approval(
    tmp_path: Path, path: str
) -> None:
    """Git runs what its configuration and hooks say, as soon as the user uses it there."""
    place, _ = place_with_links(tmp_path)
    assert permissions(place).may_read([path])
    assert not permissions(place).may_edit([path])
    assert not permissions(place, sandboxed=True).may_edit([path])


@pytest.mark.parametrize(
    "path", ["{}/login/key", "{}/login", "{}", "/", "folder/login/key", "../login/key", "~/.x/key"]
)
def test_in_a_sandbox_the_login_of_the_agent_is_not_read_unasked(tmp_path: Path, path: str) -> None:
    place, _ = place_with_links(tmp_path)
    given = path.format(tmp_path)
    assert not permissions(place, sandboxed=True).may_read([given])
    assert not permissions(place, sandboxed=True).may_call({"path": given}, [])


def test_in_a_sandbox_reading_is_free(tmp_path: Path) -> None:
    place, secret = place_with_links(tmp_path)
    inside = permissions(place, sandboxed=True)
    assert inside.may_read([str(secret)])
    assert inside.may_search("/**", "")
    assert inside.may_call({"command": "cat x"}, [str(secret)])
    assert not inside.may_edit([str(secret)])


def waits_for_an_approval(work: Rig, name: str) -> str:
    """The body of the approval that a task waits for, once no process of it runs."""
    assert work.until(name, "waiting", *ENDED).state == "waiting", work.shown(name)
    while work.task(name).attempt is not None:
        work.scheduler.tick()
    (request,) = work.waiting()
    assert request.kind == "approval"
    return request.body


@pytest.mark.parametrize("choice", ["approve", "deny"])
def test_claude_code_asks_before_it_reads_outside_its_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    place, secret = place_with_links(tmp_path)
    read = ("Read", {"file_path": str(secret)})
    inside = ("Read", {"file_path": str(place / "page.txt")})
    with agents(tmp_path, monkeypatch, [inside], [read], ["Done."]) as (work, api):
        name = hire_claude(work, workspace=Workspace("folder", str(place)))
        assert f"file_path: {secret}" in waits_for_an_approval(work, name)
        assert "qx-secret" not in api.heard()
        work.restart()
        work.answer(choice)
        assert work.until(name, *ENDED, "waiting").claim == "Done."
        assert "inside" in work.shown(name)
        assert ("qx-secret" in api.heard()) is (choice == "approve")


@pytest.mark.parametrize("choice", ["approve", "deny"])
def test_claude_code_asks_before_it_changes_what_git_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    place, _ = place_with_links(tmp_path)
    write = ("Write", {"file_path": ".git/config", "content": "[core]\n\tfsmonitor = evil\n"})
    with agents(tmp_path, monkeypatch, [write], ["Done."]) as (work, _):
        name = hire_claude(work, workspace=Workspace("folder", str(place)))
        assert "fsmonitor = evil" in waits_for_an_approval(work, name)
        assert not (place / ".git").exists()
        work.answer(choice)
        assert work.until(name, *ENDED, "waiting").claim == "Done."
        assert (place / ".git" / "config").exists() is (choice == "approve")


def test_a_sub_agent_with_a_copy_of_the_repository_waits_for_an_approval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code would run the hooks of the repository, or send it to another machine."""
    asked = {"description": "x", "prompt": "y", "subagent_type": "Explore", "isolation": "worktree"}
    with agents(tmp_path, monkeypatch, [("Agent", asked)], ["Done."]) as (work, api):
        name = hire_claude(work)
        assert "isolation: worktree" in waits_for_an_approval(work, name)
        work.answer("deny")
        assert work.until(name, *ENDED, "waiting").claim == "Done."
        assert "Denied by user" in api.heard()


@pytest.mark.skipif(bool(sandbox.sandbox_problem()), reason="no bubblewrap here")
def test_in_a_sandbox_claude_code_reads_unasked_and_sees_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, secret = place_with_links(tmp_path)
    read = ("Read", {"file_path": str(secret)})
    with agents(tmp_path, monkeypatch, [read], ["Done."]) as (work, api):
        grants = Grants(sandbox="required")
        name = hire_claude(work, workspace=Workspace("folder", str(place)), grants=grants)
        assert work.until(name, *ENDED, "waiting").claim == "Done."
        assert "qx-secret" not in api.heard()


@pytest.mark.skipif(bool(sandbox.sandbox_problem()), reason="no bubblewrap here")
def test_in_a_sandbox_claude_code_does_not_read_its_own_configuration_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "workers" / "tasks" / "tsk-2" / "agent" / "everloop.json"
    read = ("Read", {"file_path": str(own)})
    with agents(tmp_path, monkeypatch, [read], ["Done."]) as (work, api):
        name = hire_claude(work, grants=Grants(sandbox="required"))
        assert (str(own) in waits_for_an_approval(work, name), own.exists()) == (True, True)
        work.answer("deny")
        assert work.until(name, *ENDED, "waiting").claim == "Done."
        assert "pending_call" not in api.heard()


@pytest.mark.parametrize(
    ("arguments", "at"),
    [
        ({"path": "{}/secret.txt"}, []),
        ({"paths": ["page.txt", "../secret.txt"]}, []),
        ({"path": "page.txt"}, ["{}/secret.txt"]),
        ({"command": ["cat", "page.txt"]}, ["page.txt"]),
        (None, []),
        ("../secret.txt", []),
        ({"file": {"uri": "file:///etc/passwd"}}, []),
        ({"path": "folder/secret.txt"}, []),
    ],
)
def test_an_acp_agent_asks_before_it_reads_outside_its_workspace(
    tmp_path: Path, arguments: Any, at: list[str]
) -> None:
    place, _ = place_with_links(tmp_path)
    given = json.loads(json.dumps(arguments).replace("{}", str(tmp_path)))
    looks = {"look": given, "at": [one.format(tmp_path) for one in at]}
    with agent(tmp_path, [looks, {"say": "Done."}]) as work:
        name = hire_acp(work, workspace=Workspace("folder", str(place)))
        work.until(name, "waiting", *ENDED)
        work.answer("deny")
        assert work.until(name, *ENDED).claim == "Done."
        assert notes(tmp_path)[-1] == "look no"


def test_an_acp_agent_reads_its_workspace_unasked_and_gets_no_file_by_the_protocol(
    tmp_path: Path,
) -> None:
    place, secret = place_with_links(tmp_path)
    turn: Turn = [
        {"look": {"path": "page.txt"}, "at": [str(place / "page.txt")]},
        {"look": {"pattern": "TODO"}},
        {"look": str(secret), "by": "protocol"},
        {"look": str(place / "page.txt"), "by": "protocol"},
        {"say": "Done."},
    ]
    with agent(tmp_path, turn) as work:
        name = hire_acp(work, workspace=Workspace("folder", str(place)))
        assert work.until(name, "waiting", *ENDED).claim == "Done."
        said = notes(tmp_path)[1:]
        assert said == ["look once", "look once", "not fetched -32601", "not fetched -32601"]
