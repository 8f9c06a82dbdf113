"""Workspaces of tasks: a git worktree with a branch of its own, a folder, or an empty folder.

Work is never removed: before a worktree goes, what is not committed is committed to its branch, and
the branch stays until all of it is merged. What git would not commit is moved beside it: files that
it ignores, and the history of repositories that the worker made inside.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from everloop.adapters.runners.check_files import (
    digest_check_files,
    read_digests,
    write_digests,
)
from everloop.adapters.runners.git import run_git
from everloop.errors import Conflict, Invalid, NotFound, RunnerFailed
from everloop.workers import (
    PROTECTED_PATHS,
    CheckFiles,
    PreparedWorkspace,
    Task,
    compare_check_files,
    script_of,
)

BRANCH_WORDS = 8
BRANCH_CHARACTERS = 50
STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "the",
        "to",
        "of",
        "in",
        "on",
        "for",
        "with",
        "please",
        "can",
        "you",
        "my",
        "our",
        "is",
        "it",
    ]
)
DIFF_CHARACTERS_MAX = 2_000_000
INNER_FILES_SHOWN = 200
PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
DIFF = ("diff", *PLAIN, "--ignore-submodules=all")
LINK = "160000 "  # how git lists the commit of a repository inside another


class CommittedWork(msgspec.Struct, frozen=True):
    """The work of a task as a commit on its branch; `base` is what it began from."""

    branch: str
    commit: str
    base: str


class TaskWorkspaces:
    """The workspaces of the tasks of one log, below one folder."""

    def __init__(
        self,
        folder: Path,
        protected: Sequence[str] = PROTECTED_PATHS,
        check_files_max: int = 50_000,
    ) -> None:
        self._folder, self._protected = folder, tuple(protected)
        self._check_files_max = check_files_max

    def prepare(self, task: Task) -> PreparedWorkspace:
        """The workspace of a task; a worktree is made from its base once.

        Raises:
            Invalid: there is no such folder or repository.
            RunnerFailed: git failed.
        """
        place = self._prepare(task)
        kept = _beside(self._path(task), "check-files")
        if task.spec.check and task.attempts <= 1 and not kept.exists():
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_digests(kept, self._check_files(task, place))
        return place

    def compare_check_files(self, task: Task) -> CheckFiles:
        """Whether the worker changed what the check depends on, since before it began."""
        before = read_digests(_beside(self._path(task), "check-files"))
        if before is None:
            return CheckFiles()
        return compare_check_files(before, self._check_files(task, self._prepare(task)))

    def _check_files(self, task: Task, place: PreparedWorkspace) -> dict[str, str] | None:
        patterns = (*self._protected, *script_of(task.spec.check))
        return digest_check_files(Path(place.path), patterns, self._check_files_max)

    def _prepare(self, task: Task) -> PreparedWorkspace:
        asked = task.spec.workspace
        if asked.kind == "scratch":
            path = self._path(task)
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            return PreparedWorkspace(str(path))
        source = Path(asked.path).expanduser()
        if not source.is_dir():
            raise Invalid(f"there is no folder {asked.path!r}", hint="Name an existing one.")
        if asked.kind == "folder":
            return PreparedWorkspace(str(source.resolve()))
        return self._worktree(task, source)

    def diff(self, task: Task) -> str:
        """What a task changed in its worktree since its base, committed or not.

        Raises:
            NotFound: it waits for review, and its worktree is not here.
        """
        path = self._path(task)
        if task.spec.workspace.kind != "worktree":
            return ""
        if not (path / ".git").exists():
            if task.state == "review" and not task.disposition:
                raise NotFound(
                    "its worktree is not on this node, so what it changed is not known here",
                    hint="Look at it on the node that ran it.",
                )
            return self._diff_of_branch(task, path) if task.worktree_removed else ""
        _in_worktree(path, "add", "--intent-to-add", "--all", "--", ".", *_without_inner(path))
        own = _in_worktree(path, *DIFF, self._fork_point(path))
        inner = (_diff_of_inner(path, one) for one in _inner_repositories(path))
        return "".join((own, *inner))[:DIFF_CHARACTERS_MAX]

    def _diff_of_branch(self, task: Task, path: Path) -> str:
        """What is on the branch of a task without a worktree; nothing if either is gone."""
        repository = Path(task.spec.workspace.path).expanduser()
        words = (*DIFF, self._fork_point(path), branch_name(task), "--")
        return _git(repository, *words, check=False)[:DIFF_CHARACTERS_MAX]

    def dispose(self, task: Task, disposition: str) -> str:
        """Keep, merge or discard a worktree. Other workspaces stay as they are.

        Raises:
            Conflict: the merge does not go through; nothing was changed.
        """
        path = self._path(task)
        if task.spec.workspace.kind != "worktree" or not (path / ".git").exists():
            return ""
        _restore_git_file(path)
        branch = _in_worktree(path, "symbolic-ref", "--short", "HEAD").strip()
        while inner := _inner_repositories(path):
            for one in inner:
                _move_beside(path, one / ".git")
                _in_worktree(path, "rm", "--cached", "--quiet", "--ignore-unmatch", "--", str(one))
        _commit_all(path, f"Work of task {task.task_id}")
        repository = Path(task.spec.workspace.path).expanduser()
        if disposition == "merge":
            _merge(repository, branch, task)
        if any((path / one / ".git").exists() for one in _submodules(path)):
            return f"Its work is on {branch}. The worktree stays at {path}: it has submodules."
        for ignored in _ignored_files(path):
            _move_beside(path, ignored)
        _git(repository, "worktree", "remove", "--force", str(path))
        if disposition == "merge":
            _git(repository, "branch", "--delete", branch)
        said = {
            "merge": f"Merged {branch}.",
            "keep": f"Kept as branch {branch}.",
            "discard": f"The worktree was removed; its work stays on branch {branch}.",
        }
        beside = _beside(path, "ignored")
        more = f" Files that git does not keep are in {beside}." if beside.exists() else ""
        return said[disposition] + more

    def commit_work(self, task: Task) -> CommittedWork:
        """Commit what a task did to its branch; the worktree stays.

        Raises:
            NotFound: the task has no worktree here.
            RunnerFailed: git failed.
        """
        path = self._path(task)
        if task.spec.workspace.kind != "worktree" or not (path / ".git").exists():
            raise NotFound(f"task {task.task_id!r} has no worktree here", hint="Retry the task.")
        _restore_git_file(path)
        branch = _in_worktree(path, "symbolic-ref", "--short", "HEAD").strip()
        _commit_all(path, task.spec.title)
        commit = _in_worktree(path, "rev-parse", "HEAD").strip()
        return CommittedWork(branch, commit, self._fork_point(path))

    def _worktree(self, task: Task, source: Path) -> PreparedWorkspace:
        path = self._path(task)
        branch = branch_name(task)
        if (path / ".git").exists():
            current = _in_worktree(path, "symbolic-ref", "--short", "HEAD").strip()
            return PreparedWorkspace(str(path), current or branch, _common_folder(source))
        commit = _commit_of(source, task.spec.workspace.base or "HEAD")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        base = _beside(path, "base")
        new = ("worktree", "add", "-b", branch, str(path), commit)
        if run_git(source, *new).returncode != 0:  # the branch is known, or its worktree was lost
            _git(source, "worktree", "prune")
            known = _git(source, "branch", "--list", branch).strip()
            _git(source, *(("worktree", "add", str(path), branch) if known else new))
            if known and base.exists():
                commit = base.read_text()  # what it began from, before its worktree was removed
        base.write_text(commit)
        gitdir = (path / ".git").read_text().removeprefix("gitdir:").strip()
        _beside(path, "gitdir").write_text(gitdir)
        return PreparedWorkspace(str(path), branch, str(Path(gitdir).parents[1].resolve()))

    def _fork_point(self, path: Path) -> str:
        return _beside(path, "base").read_text().strip()

    def _path(self, task: Task) -> Path:
        return self._folder / "work" / task.task_id


def branch_name(task: Task) -> str:
    """`everloop/ID-words-of-the-title`: at most eight words, fifty characters."""
    words = [
        word for word in re.findall(r"[a-z0-9]+", task.spec.title.lower()) if word not in STOP_WORDS
    ]
    slug = "-".join(words[:BRANCH_WORDS])[:BRANCH_CHARACTERS].strip("-") or "task"
    return f"everloop/{slug}-{task.task_id[-8:]}"


def _commit_all(path: Path, message: str) -> None:
    """Commit whatever is not committed, also files that git did not know."""
    _in_worktree(path, "add", "--all")
    if _in_worktree(path, "status", "--porcelain", "--ignore-submodules=dirty").strip():
        _in_worktree(path, *_IDENTITY, "commit", "--quiet", "--no-verify", "--message", message)


def _inner_repositories(path: Path) -> list[Path]:
    """Repositories that the worker made inside its worktree, relative to it; no submodules.

    Git would note their commit alone, and with the worktree their files and history would go.
    """
    listed = _in_worktree(path, "ls-files", "--stage", "-z").split("\0")
    noted = {one.partition("\t")[2] for one in listed if one.startswith(LINK)} - _submodules(path)
    others = _in_worktree(path, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    found = noted | {one.rstrip("/") for one in others if one.endswith("/")}
    return [Path(one) for one in sorted(found) if (path / one / ".git").exists()]


def _submodules(path: Path) -> set[str]:
    """The submodules that the repository had when the worktree was made."""
    base = _beside(path, "base").read_text().strip()
    listed = _in_worktree(path, "ls-tree", "-r", "-z", base).split("\0")
    return {one.partition("\t")[2] for one in listed if one.startswith(LINK)}


def _without_inner(path: Path) -> list[str]:
    """Pathspecs that leave the inner repositories out."""
    return [f":(exclude,literal){one}" for one in _inner_repositories(path)]


def _diff_of_inner(path: Path, inner: Path) -> str:
    """All files of an inner repository, as new ones."""
    files: list[str] = []
    for folder, names, found in os.walk(path / inner):
        names[:] = sorted(one for one in names if one != ".git")
        files += [
            os.path.relpath(f"{folder}/{one}", path) for one in sorted(found) if one != ".git"
        ]
    words = ("diff", "--no-index", *PLAIN, "--", os.devnull)
    shown = files[:INNER_FILES_SHOWN]
    return "".join(_in_worktree(path, *words, one, check=False) for one in shown)


def _ignored_files(path: Path) -> list[Path]:
    """What git ignores in a worktree, relative to it; a folder of which it ignores all, as one."""
    shown = ("--ignored", "--untracked-files=normal", "--ignore-submodules=all")
    words = ("status", "--porcelain", "-z", *shown)
    found = _in_worktree(path, *words).split("\0")
    return [Path(one.removeprefix("!! ")) for one in found if one.startswith("!! ")]


def _move_beside(path: Path, inside: Path) -> None:
    """Move something out of a worktree, into a folder beside it."""
    target = _beside(path, "ignored") / inside
    while target.exists():  # of an earlier attempt to merge
        target = target.with_name(f"{target.name}.older")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    (path / inside).rename(target)


def _merge(repository: Path, branch: str, task: Task) -> None:
    """Merge into what is checked out, if that has no changes of its own and there is no conflict.

    Raises:
        Conflict: it cannot be merged; the repository is as it was.
    """
    if run_git(repository, "symbolic-ref", "--quiet", "HEAD").returncode != 0:
        raise Conflict(
            "the repository has no branch checked out, so nothing would keep the merge",
            hint="Check out a branch, then merge; or keep the branch.",
        )
    if _git(repository, "status", "--porcelain", "--untracked-files=no").strip():
        raise Conflict(
            "the repository has uncommitted changes", hint="Commit or stash them, then merge."
        )
    message = f"Merge {task.spec.title}"
    options = ("merge", "--no-ff", "--no-verify", "--message", message, branch)
    ran = run_git(repository, *_IDENTITY, *options)
    if ran.returncode != 0:
        _git(repository, "merge", "--abort", check=False)
        raise Conflict(
            f"{branch} does not merge: {(ran.stdout + ran.stderr).strip()[:500]}",
            hint="Merge it by hand, or keep the branch.",
        )


_IDENTITY = (
    *("-c", "user.name=Everloop", "-c", "user.email=everloop@everloop.invalid"),
    *("-c", "commit.gpgSign=false"),  # the user's key signs what the user commits
)


def _beside(path: Path, name: str) -> Path:
    """A file beside a worktree, which its worker cannot write."""
    return path.parent / f"{path.name}.{name}"


def _commit_of(repository: Path, base: str) -> str:
    """The commit of a base.

    Raises:
        Invalid: the folder is no repository.
        RunnerFailed: there is no such base.
    """
    words = ("rev-parse", "--is-inside-work-tree", "--verify", "--end-of-options")
    ran = run_git(repository, *words, f"{base}^{{commit}}")
    if ran.returncode == 0 and ran.stdout.startswith("true\n"):
        return ran.stdout.split()[-1]
    if _git(repository, "rev-parse", "--is-inside-work-tree", check=False).strip() != "true":
        raise Invalid(
            f"{str(repository)!r} is not a git repository",
            hint="Name a repository, or use the folder itself.",
        )
    raise RunnerFailed(
        f"git rev-parse failed: {ran.stderr.strip()[:500]}",
        hint="Look at the repository, then retry.",
    )


def _common_folder(repository: Path) -> str:
    """The folder in which git keeps the repository."""
    found = _git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir")
    return str(Path(found.strip()).resolve())


def _restore_git_file(path: Path) -> None:
    """Let `.git` name the worktree's own folder again; what a worker put there is kept beside."""
    file, wanted = path / ".git", f"gitdir: {_beside(path, 'gitdir').read_text()}\n"
    if file.is_file() and not file.is_symlink() and file.read_text() == wanted:
        return
    file.rename(_beside(path, "git-of-worker"))
    file.write_text(wanted)


def _in_worktree(path: Path, *words: str, check: bool = True) -> str:
    """Run git on a worktree with its own folder of git, as it was made.

    Never the one that its `.git` names: the worker can write that, and with it what git runs.
    """
    own = (f"--git-dir={_beside(path, 'gitdir').read_text()}", "--work-tree=.")
    return _git(path, *own, *words, check=check)


def _git(path: Path, *words: str, check: bool = True) -> str:
    ran = run_git(path, *words)
    if check and ran.returncode != 0:
        raise RunnerFailed(
            f"git {words[0]} failed: {ran.stderr.strip()[:500]}",
            hint="Look at the repository, then retry.",
        )
    return ran.stdout
