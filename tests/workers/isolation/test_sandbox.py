"""A hostile repository, and a worker that obeys every injected instruction."""

import socket
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.workers.rig import Rig, rig, survivors

from everloop.adapters.runners import sandbox
from everloop.workers import Grants, Workspace

REQUIRED = Grants(sandbox="required")
needs_bubblewrap = pytest.mark.skipif(
    bool(sandbox.sandbox_problem()), reason="bubblewrap is not installed, or not allowed here"
)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Rig]:
    """An engine, with a secret in its environment and one in the user's home."""
    monkeypatch.setenv("SHOP_API_KEY", "qx-secret")
    (tmp_path / "secret.txt").write_text("qx-secret")
    with rig(tmp_path / "home") as one:
        yield one


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """A machine that has no bubblewrap."""
    monkeypatch.setenv("PATH", "")
    sandbox.sandbox_problem.cache_clear()
    yield
    monkeypatch.undo()
    sandbox.sandbox_problem.cache_clear()


def repository(folder: Path) -> Path:
    """A git repository with one commit."""
    folder.mkdir()
    for words in (
        ("init", "--quiet", "-b", "main"),
        ("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x", "--allow-empty"),
    ):
        subprocess.run(["git", "-C", str(folder), *words], check=True)  # noqa: S603, S607
    return folder


@needs_bubblewrap
def test_a_worker_in_the_sandbox_sees_no_secret_and_writes_nothing_outside(
    work: Rig, tmp_path: Path
) -> None:
    code = repository(tmp_path / "code")
    orders = f"""
        env; cat {tmp_path}/secret.txt; cat /proc/*/environ | tr '\\0' '\\n'; cat ~/.ssh/*
        touch {tmp_path}/escaped {code}/escaped /etc/escaped /usr/escaped
        echo 'touch {tmp_path}/escaped' > {code}/.git/hooks/post-merge
        setsid sleep 600 & git log --oneline; echo inside > made.txt
    """
    where = Workspace("worktree", str(code))
    name = work.start("sh", "-c", orders, workspace=where, grants=REQUIRED)
    assert work.until(name, "review", "failed", "done").state == "review", work.task(name).reason
    shown = work.shown(name)
    assert "qx-secret" not in shown
    assert " x\n" in shown  # the history of the repository can be read
    assert not (tmp_path / "escaped").exists()
    assert [one.name for one in code.iterdir()] == [".git"]
    assert not (code / ".git" / "hooks" / "post-merge").exists()
    assert not Path("/etc/escaped").exists()
    assert survivors(tmp_path / "home") == []
    assert "+inside" in work.engine.workers.diff(name)


@needs_bubblewrap
def test_a_worker_in_the_sandbox_leaves_git_of_a_folder_as_it_is(work: Rig, tmp_path: Path) -> None:
    """What it put there would run as soon as the user uses git in that folder."""
    code = repository(tmp_path / "code")
    before = (code / ".git" / "config").read_text()
    orders = """
        git config core.fsmonitor evil; mkdir -p .git/hooks; echo evil > .git/hooks/post-commit
        rm -rf .git; mv .git away; git log --format=%s; echo inside > made.txt
    """
    where = Workspace("folder", str(code))
    name = work.start("sh", "-c", orders, workspace=where, grants=REQUIRED)
    assert work.until(name, "done", "failed").state == "done", work.shown(name)
    assert "x\n" in work.shown(name)  # its history can be read
    assert (code / ".git" / "config").read_text() == before
    assert not (code / ".git" / "hooks" / "post-commit").exists()
    assert (code / "made.txt").exists()


@needs_bubblewrap
@pytest.mark.parametrize("granted", [False, True])
def test_a_command_has_no_network_unless_it_was_granted(work: Rig, granted: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        grants = Grants(network=granted, sandbox="required")
        name = work.start("python3", "-c", reach, grants=grants)
        assert work.until(name, "done", "failed").state == ("done" if granted else "failed")


@pytest.mark.parametrize("trap", ["filter", "fsmonitor", "hooks"])
def test_a_worker_that_rewrites_git_does_not_make_the_server_run_anything(
    work: Rig, tmp_path: Path, trap: str
) -> None:
    """Also without a sandbox: what the server itself runs is not what the worker chose."""
    code = repository(tmp_path / "code")
    canary = tmp_path / "canary"
    settings = {
        "filter": ("filter.x.clean", f"sh -c 'touch {canary}; cat'"),
        "fsmonitor": ("core.fsmonitor", f"touch {canary}"),
        "hooks": ("core.hooksPath", "hooks"),
    }
    key, value = settings[trap]
    orders = f"""
        mkdir evil && git init --quiet evil/x && rm .git && mv evil/x/.git .git
        git config {key} "{value}"; mkdir -p hooks; echo '#!/bin/sh' > hooks/pre-commit
        echo 'touch {canary}' >> hooks/pre-commit; chmod +x hooks/pre-commit
        echo '* filter=x' > .gitattributes; echo made > made.txt
    """
    where = Workspace("worktree", str(code))
    name = work.start("sh", "-c", orders, workspace=where, grants=Grants(sandbox="off"))
    work.until(name, "review", "failed")
    assert "+made" in work.engine.workers.diff(name)
    work.answer("keep")
    work.until(name, "done")
    assert not canary.exists()
    branch = subprocess.run(  # noqa: S603
        ["git", "-C", str(code), "branch", "--list", "everloop/*"],  # noqa: S607
        capture_output=True, text=True, check=True,
    ).stdout.split()[-1]  # fmt: skip
    kept = subprocess.run(  # noqa: S603
        ["git", "-C", str(code), "show", f"{branch}:made.txt"],  # noqa: S607
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert kept.stdout == "made\n"


def test_showing_a_repository_that_the_worker_made_runs_nothing_of_it(
    work: Rig, tmp_path: Path
) -> None:
    """Its files are shown as new ones, by a git that is told by nobody how to read them."""
    code = repository(tmp_path / "code")
    canary = tmp_path / "canary"
    traps = f"""
        git config filter.x.clean "sh -c 'touch {canary}; cat'"
        git config filter.x.process "touch {canary}"; git config diff.x.textconv "touch {canary};"
        git config diff.x.command "touch {canary};"; git config core.fsmonitor "touch {canary};"
        echo '* filter=x diff=x' > .gitattributes
    """
    orders = f"""
        git init --quiet evil; mkdir inner; mv evil/.git .git.new; rm .git; mv .git.new .git
        {traps} cd inner; git init --quiet; {traps} echo made > made.txt
    """
    where = Workspace("worktree", str(code))
    name = work.start("sh", "-c", orders, workspace=where, grants=Grants(sandbox="off"))
    work.until(name, "review", "failed")
    shown = work.engine.workers.diff(name)
    assert not canary.exists()
    assert "+made" in shown
    work.answer("merge")
    assert work.until(name, "done").reason.startswith("Merged")
    assert not canary.exists()


@pytest.mark.usefixtures("without_bubblewrap")
def test_permissions_are_not_skipped_without_a_sandbox(work: Rig) -> None:
    name = work.start("true", grants=Grants(skip_permissions=True))
    assert "not installed" in work.until(name, "failed", "done").reason
    off = work.start("true", grants=Grants(sandbox="off", skip_permissions=True))
    assert "permissions are skipped only inside" in work.until(off, "failed", "done").reason


@pytest.mark.usefixtures("without_bubblewrap")
def test_a_task_that_requires_a_sandbox_does_not_run_without_one(work: Rig) -> None:
    name = work.start("true", grants=REQUIRED)
    assert "requires a sandbox" in work.until(name, "failed", "done").reason
