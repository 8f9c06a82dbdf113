"""The supervisor of one attempt, as a process of its own: it outlives the server that started it.

Run with the standard library alone, by path: `python -I -S shim.py FOLDER LOCK_FD`. It holds the
lock while it lives, writes `process.json` before it starts the command, copies the output into
`output` up to its limit, ends everything that the command started, and writes `exit.json` last. So
whoever comes later can tell from the folder what happened.

It is a subreaper: whatever the command starts, however it detaches, stays below this process.

Most of the time that a task takes to start would go into importing modules here, so there are only
cheap ones: `json`, `pathlib`, `signal` and `subprocess` cost three times as much as Python itself.
"""

import ctypes
import hashlib
import marshal
import os
import resource
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:  # the same without its enumerations, which cost as much as Python itself
    import _signal as signal

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CHUNK = 65_536
KILLED = 128  # shells add the signal's number to it
NOT_STARTED = 127
POLL_S = 0.5
DRAIN_S = 5.0  # how long output may still come once nothing runs any more


class Output:
    """Keeps the beginning and the end of the output, and the digest of all of it."""

    def __init__(self, path: str, bytes_max: int) -> None:
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - closed at the end
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

    def __init__(self, folder: str) -> None:
        self._folder = folder
        with open(f"{folder}/launch", "rb") as file:
            self._launch = marshal.load(file)  # noqa: S302 - the server wrote it for us
        self._prctl = ctypes.CDLL(None).prctl
        self._reason = ""
        self._began = time.monotonic()
        self._pid = 0  # of the command
        self._status: int | None = None  # of the command, once it has ended

    def run(self) -> None:
        """Run the command to its end and write down how it ended."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        output = Output(f"{self._folder}/output", self._launch["output_bytes_max"])
        _write(f"{self._folder}/process.json", {"pid": os.getpid()})
        try:
            code = self._supervise(output)
        except OSError as problem:
            code, self._reason = NOT_STARTED, f"cannot be run: {problem.strerror}"
        self._end_descendants(0.0)
        digest = output.close()
        ended: dict[str, object] = {
            "exit_code": code,
            "reason": self._reason or "exited",
            "output_digest": digest,
            "output_bytes": output.total,
            "duration_s": time.monotonic() - self._began,
        }
        _write(f"{self._folder}/exit.json", ended)

    def _supervise(self, output: Output) -> int:
        pipe, write_end = os.pipe()
        failed, failed_end = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            self._become_command(write_end, failed_end)
        os.close(write_end)
        os.close(failed_end)
        problem = os.read(failed, 16)  # nothing once the command runs
        os.close(failed)
        if problem:
            self._poll(wait=True)
            raise OSError(int(problem), os.strerror(int(problem)))
        _write(f"{self._folder}/process.json", {"pid": os.getpid(), "group": self._pid})
        self._copy(pipe, output)
        os.close(pipe)
        code = os.waitstatus_to_exitcode(self._poll(wait=True) or 0)
        return code if code >= 0 else KILLED - code

    def _become_command(self, output: int, failed: int) -> None:
        """In the new process: become the command, or say why not."""
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.chdir(self._launch["cwd"])
            self._limit()
            os.execvpe(self._launch["argv"][0], self._launch["argv"], self._launch["env"])  # noqa: S606 - no shell
        except OSError as problem:
            os.write(failed, str(problem.errno or 1).encode())
        finally:
            os._exit(NOT_STARTED)

    def _copy(self, pipe: int, output: Output) -> None:
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
                self._end_descendants(float(self._launch["grace_s"]))
            if self._poll() is not None:
                ended_at = ended_at or time.monotonic()
                self._end_descendants(0.0)
                if not ready and time.monotonic() - ended_at > DRAIN_S:
                    return

    def _poll(self, *, wait: bool = False) -> int | None:
        """The status of the command; None while it runs."""
        if self._status is None:
            pid, status = os.waitpid(self._pid, 0 if wait else os.WNOHANG)
            self._status = status if pid else None
        return self._status

    def _is_late(self) -> bool:
        late = time.monotonic() - self._began > float(self._launch["time_s"])
        if late:
            self._reason = "timeout"
        return late

    def _stop(self, *_: object) -> None:
        self._reason = self._reason or "cancelled"

    def _limit(self) -> None:
        """In the command's process, before it runs: it dies with us, and its limits hold."""
        self._prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for kind, most in (
            (resource.RLIMIT_AS, self._launch["memory_bytes_max"]),
            (resource.RLIMIT_NPROC, self._launch["processes_max"]),
        ):
            if most:
                resource.setrlimit(kind, (most, most))

    def _end_descendants(self, grace_s: float) -> None:
        """End everything below this process: first politely, then for good."""
        deadline = time.monotonic() + grace_s
        asked: set[int] = set()
        while _has_children() and (below := _descendants()):
            for pid in below:
                polite = time.monotonic() < deadline
                if polite and pid in asked:
                    continue
                asked.add(pid)
                _kill(pid, signal.SIGTERM if polite else signal.SIGKILL)
            time.sleep(0.01)
            self._reap_adopted(below)

    def _reap_adopted(self, pids: set[int]) -> None:
        """Reap children that were adopted; the command itself is reaped by `_poll`."""
        for pid in pids - {self._pid}:
            if _parent_and_state(pid) == (os.getpid(), "Z"):
                os.waitpid(pid, os.WNOHANG)


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it has ended by itself


def _has_children() -> bool:
    """Whether anything is below this process: what is orphaned becomes its child.

    Looking through all processes of the machine costs much more, and many tasks may end at once.
    """
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


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
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    state, parent, *_ = text.rpartition(")")[2].split()
    return int(parent), state


def _write(path: str, value: dict[str, object]) -> None:
    """Write a file of JSON whole, or not at all, and durably."""
    text = ", ".join(f"{_json(key)}: {_json(one)}" for key, one in value.items())
    part = f"{path}.part"
    with open(part, "w") as file:
        file.write(f"{{{text}}}")
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def _json(value: object) -> str:
    """A number or a text as JSON."""
    if not isinstance(value, str):
        return repr(value)
    plain = (one if " " <= one <= "~" and one not in '"\\' else _escaped(one) for one in value)
    return f'"{"".join(plain)}"'


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be", "replace")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


if __name__ == "__main__":
    os.set_inheritable(int(sys.argv[2]), False)
    Shim(sys.argv[1]).run()
