"""Pushes the branch of a task: commits its work, then `git push` to a remote of the repository.

Never forced: what others pushed to the branch stays. For an https remote at GitHub itself the token
of the settings is used, handed to git by its environment, so that no process list shows it. Other
remotes are reached as the user's own git reaches them.
"""

import base64
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from everloop.adapters.runners.git import run_git
from everloop.adapters.runners.worktrees import TaskWorkspaces
from everloop.errors import Conflict, Invalid, RunnerFailed
from everloop.workers import PushedBranch, Task

REJECTED = ("[rejected]", "non-fast-forward", "fetch first", "[remote rejected]")
SHOWN = 300


def web_host(api_url: str) -> str:
    """The host of the repositories whose REST interface is at an address."""
    return urlsplit(api_url).netloc.removeprefix("api.")


class GitPublisher:
    """Pushes from the worktrees of one log."""

    def __init__(self, workspaces: TaskWorkspaces, token: Callable[[], str], api_url: str) -> None:
        self._workspaces, self._token, self._host = workspaces, token, web_host(api_url)

    def publish(self, task: Task, remote: str) -> PushedBranch:
        """Commit and push. The same commit again changes nothing.

        Raises:
            Invalid: there is no such remote.
            Conflict: nothing was changed, or the remote has commits that are not here.
            RunnerFailed: git failed otherwise.
        """
        work = self._workspaces.commit_work(task)
        repository = Path(task.spec.workspace.path).expanduser()
        address = self._address(repository, remote)
        if work.commit == work.base:
            raise Conflict("the task changed nothing", hint="There is nothing to push.")
        reference = f"{work.commit}:refs/heads/{work.branch}"
        options = ("push", "--no-verify", "--porcelain", "--", remote, reference)
        ran = run_git(repository, *options, variables=self._credential(address))
        if ran.returncode == 0:
            return PushedBranch(work.branch, work.commit)
        said = f"{ran.stdout}\n{ran.stderr}".strip()[:SHOWN]
        if any(word in said for word in REJECTED):
            hint = "Somebody else pushed to this branch: merge by hand, or keep the branch."
            raise Conflict(f"{remote!r} does not take {work.branch}: {said}", hint=hint)
        raise RunnerFailed(f"git push failed: {said}", hint="Check the remote and the token.")

    def _address(self, repository: Path, remote: str) -> str:
        ran = run_git(repository, "remote", "get-url", "--push", "--", remote)
        if ran.returncode != 0:
            raise Invalid(
                f"{str(repository)!r} has no remote {remote!r}",
                hint="Set `remote` of the repository in the section [github.repositories.NAME].",
            )
        return ran.stdout.strip()

    def _credential(self, address: str) -> dict[str, str]:
        """Variables by which git signs in at an https remote, and asks nobody."""
        quiet = {"GIT_TERMINAL_PROMPT": "0"}
        parts = urlsplit(address)
        if parts.scheme != "https" or parts.username or parts.netloc != self._host:
            return quiet
        pair = base64.b64encode(f"x-access-token:{self._token()}".encode()).decode()
        return {
            **quiet,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.https://{parts.netloc}/.extraheader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {pair}",
        }
