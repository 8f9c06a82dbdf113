"""A worker that edits the tests it is judged by, with real files and processes."""

import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.workers.rig import Rig, rig

from everloop.adapters.runners.check_files import digest_check_files
from everloop.workers import Grants, Workspace

CHECK = ("python3", "tests/check.py")


@pytest.fixture
def work(tmp_path: Path) -> Generator[Rig]:
    with rig(tmp_path / "home") as one:
        yield one


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A repository whose check fails."""
    folder = tmp_path / "code"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "check.py").write_text("raise SystemExit(1)\n")
    git = ("git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@x")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "x")):
        subprocess.run([*git, *words], check=True)  # noqa: S603
    return folder


@pytest.mark.promise("P-WORK-11")
@pytest.mark.parametrize("kind", ["worktree", "folder"])
def test_a_check_that_the_worker_edited_does_not_pass_silently(
    work: Rig, code: Path, kind: str
) -> None:
    orders = "echo 'raise SystemExit(0)' > tests/check.py; echo tests > .gitignore; touch tests/b"
    name = work.start(
        "sh", "-c", orders, check=CHECK, workspace=Workspace(kind, str(code)),  # type: ignore[arg-type]
        grants=Grants(sandbox="off"),
    )  # fmt: skip
    task = work.until(name, "review", "done", "failed")
    assert task.state == "review"
    assert task.verdict is not None
    assert task.verdict.passed
    assert task.verdict.check_files.changed == ("tests/b", "tests/check.py")
    (request,) = work.waiting()
    assert "Check files changed by the worker: `tests/b`, `tests/check.py`." in request.body


def test_a_check_that_the_worker_left_alone_is_not_marked(work: Rig, code: Path) -> None:
    where = Workspace("folder", str(code))
    name = work.start("true", check=CHECK, workspace=where, grants=Grants(sandbox="off"))
    verdict = work.until(name, "review", "failed").verdict
    assert verdict is not None
    assert not verdict.passed
    assert verdict.check_files.standing == "unchanged"


def test_a_worker_that_runs_again_is_still_compared_with_the_beginning(
    work: Rig, code: Path
) -> None:
    orders = "test -e once || { touch once; echo 'raise SystemExit(0)' > tests/check.py; }"
    name = work.start(
        "sh", "-c", orders, check=CHECK, workspace=Workspace("worktree", str(code)),
        grants=Grants(sandbox="off"),
    )  # fmt: skip
    work.until(name, "review")
    work.answer("again")
    work.until(name, "approved", "running")
    verdict = work.until(name, "review").verdict
    assert verdict is not None
    assert verdict.check_files.standing == "changed"


def test_a_folder_with_too_many_files_is_not_looked_through(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"test_{number}.py").touch()
    assert digest_check_files(tmp_path, ["test_*.py"], 4) is None
    assert len(digest_check_files(tmp_path, ["test_*.py"], 5) or {}) == 5


def test_links_are_compared_by_where_they_point_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "test_a.py").touch()
    root = tmp_path / "root"
    root.mkdir()
    (root / "tests").symlink_to(tmp_path / "elsewhere")
    assert digest_check_files(root, ["tests/**"], 9) == {}
    found = digest_check_files(root, ["tests"], 9)
    assert found is not None
    assert found["tests"].startswith("link:")
