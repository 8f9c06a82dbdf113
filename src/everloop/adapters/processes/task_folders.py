"""The folders of tasks beside a log: what they take on the disk, and removing what is not needed.

What is removed is moved into a folder `trash` first, which takes no time, and deleted from there
by programs of their own: a worker can leave millions of files, and folders that nobody may write.
"""

import subprocess
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path

from everloop.errors import RunnerFailed
from everloop.workers import CLUSTER_RUNNER, FolderSize

ATTEMPTS, WORKSPACES, TRASH = "tasks", "work", "trash"
MEASURED = (ATTEMPTS, CLUSTER_RUNNER, WORKSPACES, TRASH)
MEASURE_S = 120
DELETE = 'chmod -R u+rwX -- "$0"; exec rm -rf --one-file-system -- "$0"'


class LocalTaskFolders:
    """The folders of the tasks of one log, on this machine."""

    def __init__(self, folder: Path, attempts: str = ATTEMPTS) -> None:
        """`attempts` names the folder below which those of the attempts are."""
        self._folder, self._attempts = folder, folder / attempts
        self._deleting: threading.Thread | None = None
        self._measuring = threading.Lock()
        self._measured: tuple[float, list[FolderSize]] | None = None  # when, and what

    def task_ids(self) -> list[str]:
        """The tasks with folders of attempts."""
        with suppress(FileNotFoundError):
            return sorted(one.name for one in self._attempts.iterdir())
        return []

    def workspace(self, task_id: str) -> Path:
        """Where the workspace of a task is, if it has one here."""
        return self._folder / WORKSPACES / task_id

    def has_attempts(self, task_id: str) -> bool:
        """Whether a task has folders of attempts."""
        return (self._attempts / task_id).exists()

    def measure(self, max_age_s: float = 0.0) -> list[FolderSize]:
        """What each task takes on the disk, the largest first; "" is what was just removed.

        Raises:
            RunnerFailed: it cannot be measured.
        """
        with self._measuring:
            now = time.monotonic()
            if self._measured is None or now - self._measured[0] >= max_age_s:
                self._measured = (now, _measure(self._folder))
            return self._measured[1]

    def remove_temporary(self, task_id: str) -> None:
        """Remove the temporary files of all attempts of a task."""
        for one in (self._attempts / task_id).glob("[0-9]*/tmp"):
            self._throw_away(one)

    def remove(self, task_id: str) -> None:
        """Remove all folders of the attempts of a task."""
        self._throw_away(self._attempts / task_id)

    def empty_trash(self) -> None:
        """Delete what was removed. A program does it, with low priority; this does not wait."""
        if self._deleting is not None and self._deleting.is_alive():
            return
        trash = self._folder / TRASH
        if trash.exists():
            self._deleting = threading.Thread(
                target=_delete, args=(trash,), name="everloop-trash", daemon=True
            )
            self._deleting.start()

    def _throw_away(self, path: Path) -> None:
        trash = self._folder / TRASH
        trash.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            path.rename(trash / uuid.uuid4().hex)


def _delete(trash: Path) -> None:
    with suppress(OSError):  # what it cannot delete is tried again at the next look
        subprocess.run(  # noqa: S603 - fixed programs, our own path
            ["nice", "-n", "19", "sh", "-c", DELETE, str(trash)],  # noqa: S607 - the system's
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            start_new_session=True,
        )


def _measure(folder: Path) -> list[FolderSize]:
    found = [one for one in MEASURED if (folder / one).is_dir()]
    if not found:
        return []
    try:
        ran = subprocess.run(  # noqa: S603 - fixed options, our own folders
            ["du", "-k", "-d", "1", "--", *found],  # noqa: S607 - the system's own
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=MEASURE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise RunnerFailed(
            f"the folders of tasks cannot be measured: {problem}", hint=f"Look at {folder}."
        ) from problem
    sizes: dict[str, int] = {}
    for line in ran.stdout.decode(errors="replace").splitlines():
        size, _, path = line.partition("\t")
        kind, _, name = path.partition("/")
        if name or kind == TRASH:  # not the sums of the others
            task_id = "" if kind == TRASH else name.partition(".")[0]
            sizes[task_id] = sizes.get(task_id, 0) + int(size) * 1024
    largest = sorted(sizes.items(), key=lambda one: (-one[1], one[0]))
    return [FolderSize(*one) for one in largest]
