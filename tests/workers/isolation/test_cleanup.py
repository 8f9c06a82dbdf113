"""What ended tasks leave on the disk: removed by its age, and never any work."""

import time
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from tests.workers.isolation.test_worktrees import NO_SANDBOX, branches, git
from tests.workers.rig import Rig, rig

from everloop.app import USER
from everloop.doctor import check_open_log
from everloop.workers import Task, WorkerSettings, Workspace

FAILS = 'echo two >> page.txt; echo new > new.txt; echo big > "$TMPDIR/big"; exit 1'


@pytest.fixture
def work(tmp_path: Path) -> Generator[Rig]:
    """An engine with a scheduler that is moved by hand."""
    with rig(tmp_path / "home") as one:
        yield one


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit that ignores `*.cache`."""
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch=main")
    git(path, "config", "user.name", "Ada")
    git(path, "config", "user.email", "ada@example.invalid")
    (path / "page.txt").write_text("one\n")
    (path / ".gitignore").write_text("*.cache\n")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message", "first")
    return path


def failed(work: Rig, repository: Path, script: str = FAILS) -> Task:
    """A task that failed in a worktree."""
    place = Workspace("worktree", str(repository))
    name = work.start("sh", "-c", script, workspace=place, grants=NO_SANDBOX)
    return work.until(name, "failed")


def look(work: Rig) -> None:
    """Let a new scheduler look once at all that is there."""
    work.restart()
    for _ in range(10):
        work.scheduler.tick()


def folders(work: Rig) -> Path:
    """The folder of workers."""
    return work.engine.log.file.path.parent / "workers"


def wait_until_gone(path: Path) -> None:
    """Wait for the programs that delete."""
    deadline = time.monotonic() + 20
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not path.exists()


@pytest.mark.promise("P-WORK-5")
def test_temporary_files_go_soon_and_the_worktree_after_its_days_with_its_work_kept(
    work: Rig, repository: Path
) -> None:
    task = failed(work, repository, f"echo mine > x.cache; {FAILS}")
    attempt, worktree = folders(work) / "tasks" / task.task_id / "1", folders(work) / "work"
    assert (attempt / "tmp" / "big").exists()
    look(work)
    assert not (attempt / "tmp").exists()
    assert (attempt / "output").exists()
    assert (worktree / task.task_id / "new.txt").exists()

    work.stage.clock.tick(days=29)
    look(work)
    assert (worktree / task.task_id).exists()
    work.stage.clock.tick(days=1)
    look(work)
    assert not (worktree / task.task_id).exists()
    assert not attempt.parent.exists()
    (branch,) = branches(repository)
    assert git(repository, "show", f"{branch}:new.txt") == "new\n"
    assert (worktree / f"{task.task_id}.ignored" / "x.cache").read_text() == "mine\n"
    now = work.task(task.task_id)
    assert (now.state, now.reason) == ("failed", task.reason)
    assert branch in now.worktree_removed
    assert ".ignored" in now.worktree_removed
    assert "+two" in work.engine.workers.diff(task.task_id)
    work.restart()
    look(work)
    wait_until_gone(folders(work) / "trash")


def test_a_retry_after_the_days_goes_on_with_the_work_and_its_first_base(
    work: Rig, repository: Path
) -> None:
    task = failed(work, repository)
    work.stage.clock.tick(days=31)
    look(work)
    assert work.task(task.task_id).worktree_removed
    (repository / "later.txt").write_text("of somebody else\n")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "later")

    work.engine.workers.retry(task.task_id, USER)
    assert work.until(task.task_id, "failed").worktree_removed == ""
    diff = work.engine.workers.diff(task.task_id)
    assert "+new" in diff
    assert "later.txt" not in diff


def test_nothing_is_removed_with_0_days_nor_of_a_task_that_is_open(
    work: Rig, repository: Path
) -> None:
    place = Workspace("worktree", str(repository))
    script = 'echo new > new.txt; echo big > "$TMPDIR/big"'
    name = work.start("sh", "-c", script, workspace=place, grants=NO_SANDBOX)
    work.until(name, "review")
    old = failed(work, repository)
    work.settings = msgspec.structs.replace(work.settings, workers=WorkerSettings(keep_days=0))
    work.stage.clock.tick(days=400)
    look(work)
    assert (folders(work) / "work" / old.task_id / "new.txt").exists()
    assert (folders(work) / "work" / name / "new.txt").exists()
    assert (folders(work) / "tasks" / name / "1" / "tmp" / "big").exists()


def test_a_repository_that_is_gone_stops_nothing_and_loses_nothing(
    work: Rig, repository: Path
) -> None:
    task = failed(work, repository)
    repository.rename(repository.with_name("elsewhere"))
    work.stage.clock.tick(days=31)
    look(work)
    assert (folders(work) / "work" / task.task_id / "new.txt").exists()
    assert (folders(work) / "tasks" / task.task_id).exists()
    other = work.start("echo", "still here", grants=NO_SANDBOX)
    work.until(other, "done")


def test_folders_that_nobody_may_write_are_deleted_and_links_are_not_followed(
    work: Rig, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "mine").write_text("mine")
    script = (
        f'mkdir -p "$TMPDIR/a/b"; touch "$TMPDIR/a/b/c"; ln -s {kept} "$TMPDIR/a/link";'
        ' chmod 500 "$TMPDIR/a/b" "$TMPDIR/a"'
    )
    name = work.start("sh", "-c", script, grants=NO_SANDBOX)
    work.until(name, "done")
    look(work)
    look(work)
    wait_until_gone(folders(work) / "trash")
    assert (kept / "mine").read_text() == "mine"


def test_what_tasks_take_is_shown_by_task_and_by_the_doctor(work: Rig, repository: Path) -> None:
    task = failed(work, repository)
    script = "dd if=/dev/zero of=big bs=1024 count=5000 2>/dev/null"
    large = work.start("sh", "-c", script, grants=NO_SANDBOX)
    work.until(large, "done")
    first, second = work.engine.workers.storage()
    assert (first.task_id, first.state) == (large, "done")
    assert first.size >= 5_000_000
    assert Path(first.workspace, "big").exists()
    assert second.task_id == task.task_id
    assert second.removal == work.view(task.task_id).changed_at.replace(month=1, day=31)
    (found,) = [one for one in check_open_log(work.engine) if one.topic == "task folders"]
    assert found.words.startswith("4 MB of 2 tasks; most, 4 MB: A command")
    assert found.next_step == "everloop tasks storage"
