"""Peers of memory, each in a process of its own, because what they need would not fit beside ours.

`make bench-peers` installs them into `.venv-peers`; where that is missing, they are left out.
"""

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np

from bench import sample_memory
from bench.comparison import Rate

ROOT = Path(__file__).parents[1]
SIDE = Path(__file__).parent / "memory_peer_process.py"


def peers_python() -> Path | None:
    """The Python that has the peers, if there is one."""
    python = ROOT / ".venv-peers" / "bin" / "python"
    return python if python.exists() else None


class MemoryPeer:
    """A peer with so many items, ready to be compared."""

    def __init__(self, peer: str, folder: Path, items: int) -> None:
        folder.mkdir(parents=True)
        given = {"items": sample_memory.all_texts(items), "questions": sample_memory.questions()}
        (folder / "texts.json").write_bytes(msgspec.json.encode(given))
        np.save(folder / "vectors.npy", sample_memory.unit_vectors(items))
        np.save(folder / "asked.npy", sample_memory.asked_vectors())
        python = str(peers_python() or sys.executable)
        self._process = subprocess.Popen(  # noqa: S603 - our own script
            [python, "-P", SIDE, peer, folder, str(items)],  # our modules are none of its business
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.fill_s = self._heard()

    def searches(self) -> Rate:
        """The rate of its searches."""
        return lambda seconds: self._told(f"{seconds} 0 1")

    def adds(self, written: int, *, found: bool) -> Rate:
        """The rate of its adds, of so many items each; and of a search after each of them."""
        return lambda seconds: self._told(f"{seconds} {written} {int(found)}")

    def close(self) -> None:
        """Stop its process."""
        self._process.kill()
        self._process.wait()

    def _told(self, line: str) -> float:
        print(line, file=self._process.stdin, flush=True)
        return self._heard()

    def _heard(self) -> float:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            sys.exit(f"a peer broke off; run {SIDE.name} by hand to see why")
        return float(line)
