"""Folders for harnesses that open thousands of logs: in memory, where there is such a disk.

None of them asks what a real disk keeps; those that do take pytest's `tmp_path`.
"""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

MEMORY = "/dev/shm"  # noqa: S108 - Linux keeps a file system in memory there


def scratch_place() -> str | None:
    """The disk in memory, if there is one."""
    return MEMORY if os.access(MEMORY, os.W_OK) else None


@contextmanager
def scratch_folder() -> Generator[Path]:
    """An empty folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="everloop-faults-", dir=scratch_place()) as name:
        yield Path(name)
