"""Scratch folders for tests that open thousands of logs: on an in-memory disk, if there is one.

Tests that depend on a real disk use pytest's `tmp_path` instead.
"""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

MEMORY = "/dev/shm"  # noqa: S108 - Linux keeps a file system in memory there


def scratch_place() -> str | None:
    """The in-memory disk, if there is one."""
    return MEMORY if os.access(MEMORY, os.W_OK) else None


@contextmanager
def scratch_folder() -> Generator[Path]:
    """An empty folder that is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="everloop-faults-", dir=scratch_place()) as name:
        yield Path(name)
