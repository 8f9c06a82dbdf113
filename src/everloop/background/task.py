"""A background task: work that one process of all that have the log open does.

The process that holds the claim works (leader election by lock). When it dies, another takes over
within a second or two. A failure, such as a full disk or a model that does not answer, is kept as
`problem` and the work is tried again: a task ends only when it is stopped, or with its log.
"""

import threading
from collections.abc import Callable
from contextlib import nullcontext

from everloop.background.health import TaskHealth, TaskState
from everloop.errors import EverloopError
from everloop.log import Log
from everloop.log.ownership import Claim

TAKE_OVER_S = 1.0
RETRY_S = 1.0  # after a failure
STOP_S = 5.0  # how long `stop` waits

Work = Callable[[Claim], None]

UNCLAIMED = Claim("", lambda: True, lambda: None)  # of a task that every process does for itself


class BackgroundTask:
    """A thread that does one piece of work while this process holds the claim on it.

    Without a `claim`, every process does it.
    """

    def __init__(self, log: Log, name: str, work: Work, *, claim: str = "") -> None:
        self._log, self._claim, self._does = log, claim, work
        self._thread = threading.Thread(target=self._serve, name=f"everloop-{name}", daemon=True)
        self.name = name
        self.stopping = threading.Event()
        self.held = threading.Event()  # set while this process does the work
        self.problem: EverloopError | None = None  # what keeps it from working, if anything does
        self.progress = (0, 0)  # how much is done, of how much; (0, 0) while nothing is counted

    def start(self) -> None:
        """Begin as soon as the claim is free."""
        self._thread.start()

    def stop(self) -> None:
        """End after the current step, without waiting for a model that takes long.

        Harmless if it never began; what it would record after the log is closed is made again.
        """
        self.stopping.set()
        if self._thread.is_alive():
            self._thread.join(STOP_S)

    @property
    def over(self) -> bool:
        """Whether it was stopped, or its log was closed."""
        return self.stopping.is_set() or self._log.closed

    def health(self) -> TaskHealth:
        """What it is doing, and what keeps it from working."""
        problem, (done, total) = self.problem, self.progress
        return TaskHealth(
            self.name,
            self._state(),
            str(problem) if problem else "",
            problem.hint if problem else "",
            done,
            total,
        )

    def _state(self) -> TaskState:
        if self.over:
            return "stopped"
        if self.problem:
            return "failing"
        if self.held.is_set():
            return "running"
        return "standby" if self._thread.is_alive() else "starting"

    def _serve(self) -> None:
        while not self.over:
            try:
                self._once()
            except EverloopError as problem:
                self.problem = problem
                self.stopping.wait(RETRY_S)

    def _once(self) -> None:
        claim = self._log.claim(self._claim, wait_s=TAKE_OVER_S) if self._claim else UNCLAIMED
        if claim is None:
            return
        with claim if self._claim else nullcontext():
            self.held.set()
            self.problem = None
            try:
                self._does(claim)
            finally:
                self.held.clear()
