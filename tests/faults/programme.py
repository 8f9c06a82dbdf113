"""Runs a test harness in a separate process with one thread, so that it may fork."""

import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 3_600


def run(module: str, order: msgspec.Struct, outcome: type[T]) -> T:
    """Run a module with parameters as JSON and return its output."""
    command = [sys.executable, "-m", module, msgspec.json.encode(order).decode()]
    done = subprocess.run(  # noqa: S603 - our own programme
        command, cwd=ROOT, capture_output=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=outcome)
