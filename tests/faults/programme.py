"""Running a harness in a process of its own, which has one thread and may therefore fork."""

import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 3_600


def run(module: str, order: msgspec.Struct, outcome: type[T]) -> T:
    """Give a module its order as JSON and return what it prints."""
    command = [sys.executable, "-m", module, msgspec.json.encode(order).decode()]
    done = subprocess.run(  # noqa: S603 - our own programme
        command, cwd=ROOT, capture_output=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=outcome)
