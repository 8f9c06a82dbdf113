"""A small file system of its own, for tests of full and read-only disks; only root mounts."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, size_mb: int) -> Generator[Path]:
    """A file system of this size at a folder, or the test is skipped."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() or _call(
        "mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(folder)
    ):
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        _call("umount", str(folder))


def make_read_only(folder: Path) -> None:
    """Make a mounted file system read-only."""
    assert _call("mount", "-o", "remount,ro", str(folder)) == 0


def _call(*words: str) -> int:
    try:
        return subprocess.run(words, check=False, capture_output=True).returncode  # noqa: S603 - fixed
    except FileNotFoundError:
        return 1
