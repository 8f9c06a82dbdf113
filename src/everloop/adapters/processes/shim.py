"""The supervisor of one attempt, as a process of its own: it outlives the server that started it.

Run with the standard library alone, by path: `python -I -S shim.py FOLDER LOCK_FD`. It holds the
lock while it lives, writes `process.json` before it starts the command, copies the output into
`output` up to its limit, ends everything that the command started, and writes `exit.json` last. So
whoever comes later can tell from the folder what happened.

It is a subreaper: whatever the command starts, however it detaches, stays below this process.
"""

import ctypes
import hashlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CHUNK = 65_536
KILLED = 128  # shells add the signal's number to it
NOT_STARTED = 127
POLL_S = 0.5
DRAIN_S = 5.0  # how long output may still come once nothing runs any more


class Output:
    """Keeps the beginning and the end of the output, and the digest of all of it."""

    def __init__(self, path: Path, bytes_max: int) -> None:
        self._file = path.open("ab", buffering=0)
        self._head_max, self._tail_max = bytes_max - bytes_max // 4, bytes_max // 4
        self._tail = b""
        self._digest = hashlib.sha256()
        self.total = self._written = 0

    def add(self, data: bytes) -> None:
        """Take in more output."""
        self._digest.update(data)
        self.total += len(data)
        room = self._head_max - self._written
        if room > 0:
            self._file.write(data[:room])
            self._written += len(data[:room])
            data = data[room:]
        if data:
            self._tail = (self._tail + data)[-self._tail_max :]

    def close(self) -> str:
        """Write the end of the output, and return the digest of all of it."""
        left_out = self.total - self._written - len(self._tail)
        if left_out:
            self._file.write(f"\n[… {left_out} bytes left out …]\n".encode())
        self._file.write(self._tail)
        self._file.close()
        return self._digest.hexdigest()


class Shim:
    """One attempt: its command, its time limit, and the signal that ends it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._launch = json.loads((folder / "launch.json").read_text())
        self._reason = ""
        self._began = time.monotonic()

    def run(self) -> None:
        """Run the command to its end and write down how it ended."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        output = Output(self._folder / "output", self._launch["output_bytes_max"])
        _write(self._folder / "process.json", {"pid": os.getpid()})
        try:
            code = self._supervise(output)
        except OSError as problem:
            code, self._reason = NOT_STARTED, f"cannot be run: {problem.strerror}"
        _end_descendants(0.0)
        digest = output.close()
        ended = {
            "exit_code": code,
            "reason": self._reason or "exited",
            "output_digest": digest,
            "output_bytes": output.total,
            "duration_s": time.monotonic() - self._began,
        }
        _write(self._folder / "exit.json", ended)

    def _supervise(self, output: Output) -> int:
        launch = self._launch
        process = subprocess.Popen(  # noqa: S603 - the user's own command, and no shell reads it
            launch["argv"],
            cwd=launch["cwd"],
            env=launch["env"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=self._limit,
        )
        assert process.stdout is not None
        _write(self._folder / "process.json", {"pid": os.getpid(), "group": process.pid})
        self._copy(process, process.stdout.fileno(), output)
        code = process.wait()
        return code if code >= 0 else KILLED - code

    def _copy(self, process: "subprocess.Popen[bytes]", pipe: int, output: Output) -> None:
        """Copy output until the command has ended and nothing of it holds the pipe any more."""
        ended_at = 0.0
        while True:
            ready, _, _ = select.select([pipe], [], [], POLL_S if not ended_at else 0.05)
            if ready:
                data = os.read(pipe, CHUNK)
                if not data:
                    return
                output.add(data)
            if self._reason or self._is_late():
                _end_descendants(self._launch["grace_s"])
            if process.poll() is not None:
                ended_at = ended_at or time.monotonic()
                _end_descendants(0.0)
                if not ready and time.monotonic() - ended_at > DRAIN_S:
                    return

    def _is_late(self) -> bool:
        late = time.monotonic() - self._began > float(self._launch["time_s"])
        if late:
            self._reason = "timeout"
        return late

    def _stop(self, *_: object) -> None:
        self._reason = self._reason or "cancelled"

    def _limit(self) -> None:
        """In the command's process, before it runs: it dies with us, and its limits hold."""
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for kind, most in (
            (resource.RLIMIT_AS, self._launch["memory_bytes_max"]),
            (resource.RLIMIT_NPROC, self._launch["processes_max"]),
        ):
            if most:
                resource.setrlimit(kind, (most, most))


def _end_descendants(grace_s: float) -> None:
    """End everything below this process: first politely, then for good."""
    deadline = time.monotonic() + grace_s
    asked: set[int] = set()
    while below := _descendants():
        for pid in below:
            polite = time.monotonic() < deadline
            if polite and pid in asked:
                continue
            asked.add(pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM if polite else signal.SIGKILL)
        time.sleep(0.01)
        _reap_adopted(below)


def _reap_adopted(pids: set[int]) -> None:
    """Reap children that were adopted; the command itself is reaped by `Popen`."""
    for pid in pids:
        with suppress(ChildProcessError, ProcessLookupError):
            if _parent_and_state(pid) == (os.getpid(), "Z") and pid != _command_pid():
                os.waitpid(pid, os.WNOHANG)


def _command_pid() -> int:
    return int(json.loads((Path(sys.argv[1]) / "process.json").read_text()).get("group", 0))


def _descendants() -> set[int]:
    """The living processes below this one."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (known := _parent_and_state(int(entry))) and known[1] != "Z":
            parents[int(entry)] = known[0]
    below: set[int] = set()
    level = {os.getpid()}
    while level := {pid for pid, parent in parents.items() if parent in level} - below:
        below |= level
    return below


def _parent_and_state(pid: int) -> tuple[int, str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    state, parent, *_ = text.rpartition(")")[2].split()
    return int(parent), state


def _write(path: Path, value: Mapping[str, object]) -> None:
    """Write a file whole, or not at all, and durably."""
    part = path.with_suffix(".part")
    with part.open("w") as file:
        file.write(json.dumps(value))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


if __name__ == "__main__":
    os.set_inheritable(int(sys.argv[2]), False)
    Shim(Path(sys.argv[1])).run()
