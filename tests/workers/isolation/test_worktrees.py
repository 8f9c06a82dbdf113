"""Git worktrees of tasks: branches, diffs, and work that is never lost."""

import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.workers.rig import Rig, rig

from everloop.adapters.runners.worktrees import TaskWorkspaces
from everloop.errors import NotFound
from everloop.workers import Grants, Workspace

NO_SANDBOX = Grants(sandbox="off")


@pytest.fixture
def work(tmp_path: Path) -> Generator[Rig]:
    """An engine with a scheduler that is moved by hand."""
    with rig(tmp_path / "home") as one:
        yield one


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit."""
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch=main")
    git(path, "config", "user.name", "Ada")
    git(path, "config", "user.email", "ada@example.invalid")
    (path / "page.txt").write_text("one\n")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message", "first")
    return path


def git(path: Path, *words: str) -> str:
    """Run git."""
    return subprocess.run(  # noqa: S603 - fixed options
        ["git", "-C", str(path), *words],  # noqa: S607 - whichever is installed
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def change(
    work: Rig, repository: Path, script: str = "echo two >> page.txt; echo new > new.txt"
) -> str:
    """Let a command change a worktree, up to its review."""
    place = Workspace("worktree", str(repository))
    name = work.start("sh", "-c", script, workspace=place, grants=NO_SANDBOX)
    work.until(name, "review")
    return name


def branches(repository: Path) -> list[str]:
    """The branches of tasks."""
    found = git(repository, "branch", "--list", "everloop/*", "--format=%(refname:short)")
    return found.split()


def test_a_task_works_on_its_own_branch_and_shows_its_diff(work: Rig, repository: Path) -> None:
    name = change(work, repository, "echo two >> page.txt; echo new > 'neu ü.txt'")
    assert (repository / "page.txt").read_text() == "one\n"
    (branch,) = branches(repository)
    assert branch.startswith("everloop/command-")
    diff = work.engine.workers.diff(name)
    assert "+two" in diff
    assert "diff --git a/neu ü.txt b/neu ü.txt" in diff


def test_a_node_without_the_worktree_says_so_and_shows_no_empty_diff(
    work: Rig, repository: Path, tmp_path: Path
) -> None:
    task = work.task(change(work, repository))
    assert task.state == "review"
    with pytest.raises(NotFound, match="not on this node"):
        TaskWorkspaces(tmp_path / "of another node").diff(task)


def test_merging_brings_the_work_into_the_repository(work: Rig, repository: Path) -> None:
    name = change(work, repository)
    work.answer("merge")
    done = work.until(name, "done")
    assert done.reason.startswith("Merged everloop/")
    assert (repository / "page.txt").read_text() == "one\ntwo\n"
    assert (repository / "new.txt").exists()
    assert branches(repository) == []


@pytest.mark.promise("P-WORK-5")
@pytest.mark.parametrize("choice", ["keep", "discard"])
def test_uncommitted_work_is_committed_to_its_branch_before_a_worktree_goes(
    work: Rig, repository: Path, choice: str
) -> None:
    name = change(work, repository)
    work.answer(choice)
    work.until(name, "done")
    (branch,) = branches(repository)
    assert git(repository, "show", f"{branch}:page.txt") == "one\ntwo\n"
    assert git(repository, "show", f"{branch}:new.txt") == "new\n"
    assert git(repository, "worktree", "list").count("\n") == 1


@pytest.mark.promise("P-WORK-5")
def test_a_merge_that_does_not_go_through_changes_nothing_and_asks_again(
    work: Rig, repository: Path
) -> None:
    name = change(work, repository)
    (repository / "page.txt").write_text("something else\n")
    git(repository, "commit", "--quiet", "--all", "--message", "second")
    work.answer("merge")
    while not work.task(name).reason:
        work.scheduler.tick()
    task = work.task(name)
    assert (task.state, "does not merge" in task.reason) == ("review", True)
    assert (repository / "page.txt").read_text() == "something else\n"
    assert "+two" in work.engine.workers.diff(name)
    work.answer("keep")
    assert work.until(name, "done").reason.startswith("Kept")


@pytest.mark.promise("P-WORK-5")
def test_a_repository_with_changes_of_its_own_is_not_merged_into(
    work: Rig, repository: Path
) -> None:
    name = change(work, repository)
    (repository / "page.txt").write_text("in the middle of something\n")
    work.answer("merge")
    while not work.task(name).reason:
        work.scheduler.tick()
    assert "uncommitted changes" in work.task(name).reason
    assert (repository / "page.txt").read_text() == "in the middle of something\n"


@pytest.mark.promise("P-WORK-5")
def test_nothing_is_merged_where_no_branch_is_checked_out(work: Rig, repository: Path) -> None:
    """The merge would be on no branch, and gone once another one is checked out."""
    git(repository, "checkout", "--quiet", "--detach")
    name = change(work, repository)
    work.answer("merge")
    while not work.task(name).reason:
        work.scheduler.tick()
    assert "no branch checked out" in work.task(name).reason
    assert len(branches(repository)) == 1
    git(repository, "checkout", "--quiet", "main")
    work.answer("merge")
    assert work.until(name, "done").reason.startswith("Merged")
    assert git(repository, "show", "main:page.txt") == "one\ntwo\n"


@pytest.fixture
def unusual_git(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of a user's git that change what it prints, and how it commits."""
    assert repository.exists()  # made before, without them
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[color]\n\tui = always\n\tdiff = always\n[diff]\n\tnoprefix = true\n"
        "[status]\n\tshowUntrackedFiles = no\n[commit]\n\tgpgSign = true\n"
        "[gpg]\n\tprogram = /bin/false\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))


@pytest.mark.usefixtures("unusual_git")
@pytest.mark.parametrize("choice", ["merge", "keep"])
def test_settings_of_the_users_git_change_no_diff_and_lose_no_file(
    work: Rig, repository: Path, tmp_path: Path, choice: str
) -> None:
    script = "echo '*.data' > .gitignore; echo kept > result.data; echo two >> page.txt"
    name = change(work, repository, script)
    diff = work.engine.workers.diff(name)
    assert "diff --git a/page.txt b/page.txt\n" in diff
    assert "\n+two\n" in diff
    work.answer(choice)
    done = work.until(name, "done", "failed")
    left = tmp_path / "home" / "workers" / "work" / f"{name}.ignored"
    assert (done.state, (left / "result.data").read_text()) == ("done", "kept\n"), done.reason


def test_a_server_that_git_started_works_on_the_repository_that_was_asked_for(
    work: Rig, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(repository), str(other))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    name = change(work, repository)
    assert "+two" in work.engine.workers.diff(name)
    work.answer("keep")
    assert work.until(name, "done", "failed").state == "done"
    monkeypatch.undo()
    assert len(branches(repository)) == 1
    assert branches(other) == []
    assert git(other, "status", "--porcelain") == ""


def test_hooks_of_the_repository_are_not_run(work: Rig, repository: Path, tmp_path: Path) -> None:
    for hook in ("post-checkout", "pre-commit", "post-merge", "prepare-commit-msg"):
        path = repository / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/canary\n")
        path.chmod(0o755)
    name = change(work, repository)
    work.answer("merge")
    work.until(name, "done")
    assert not (tmp_path / "canary").exists()


def test_a_folder_that_is_no_repository_fails_with_a_hint(work: Rig, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    name = work.start("true", workspace=Workspace("worktree", str(tmp_path / "plain")))
    assert "is not a git repository" in work.until(name, "failed").reason


def test_a_plain_folder_is_worked_in_as_it_is(work: Rig, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    place = Workspace("folder", str(tmp_path / "plain"))
    name = work.start("touch", "here", workspace=place, grants=NO_SANDBOX)
    work.until(name, "done")
    assert (tmp_path / "plain" / "here").exists()


@pytest.mark.parametrize("choice", ["merge", "keep", "discard"])
def test_files_that_git_ignores_outlive_the_worktree(
    work: Rig, repository: Path, tmp_path: Path, choice: str
) -> None:
    script = "echo '*.data' > .gitignore; mkdir -p deep; echo kept > deep/result.data"
    name = change(work, repository, script)
    work.answer(choice)
    done = work.until(name, "done", "review")
    left = tmp_path / "home" / "workers" / "work" / f"{name}.ignored"
    assert (done.state, (left / "deep" / "result.data").read_text()) == ("done", "kept\n")
    assert str(left) in done.reason


INNER_COMMIT = "git -C inner commit -qm one"
OUTER_COMMIT = "git -c advice.addEmbeddedRepo=false add .; git commit -qm two"


@pytest.mark.parametrize(
    "commit",
    ["true", INNER_COMMIT, f"{INNER_COMMIT}; {OUTER_COMMIT}"],
    ids=["without a commit", "with a commit", "noted by the worker"],
)
def test_a_repository_that_the_worker_made_is_committed_as_files_and_keeps_its_history(
    work: Rig, repository: Path, tmp_path: Path, commit: str
) -> None:
    identity = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A"
    script = f"""{identity} GIT_COMMITTER_EMAIL=a@b; git init -q inner; echo kept > inner/a.txt
    git -C inner add .; {commit}"""
    name = change(work, repository, script)
    assert "inner/a.txt" in work.engine.workers.diff(name)
    work.answer("merge")
    done = work.until(name, "done", "review")
    assert (done.state, (repository / "inner" / "a.txt").read_text()) == ("done", "kept\n")
    kept = tmp_path / "home" / "workers" / "work" / f"{name}.ignored" / "inner" / ".git"
    assert (kept / "HEAD").exists()


def test_a_worktree_with_submodules_stays(work: Rig, repository: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    git(tmp_path, "clone", "--quiet", str(repository), str(inner))
    allowed = ("-c", "protocol.file.allow=always")
    git(repository, *allowed, "submodule", "--quiet", "add", str(inner), "inner")
    git(repository, "commit", "--quiet", "--message", "with a submodule")
    script = "git -c protocol.file.allow=always submodule -q update --init; echo x > inner/x.txt"
    name = change(work, repository, script)
    work.answer("discard")
    done = work.until(name, "done", "review")
    left = tmp_path / "home" / "workers" / "work" / name / "inner" / "x.txt"
    assert (done.state, left.read_text()) == ("done", "x\n"), done.reason
    assert "has submodules" in done.reason
