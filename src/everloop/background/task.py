"""A duty: background work that one process of all that have the log open does, as long as it lives.

Whoever holds the claim works; when that process dies, another takes over within a second or two.
Trouble, such as a full disk or a model that is away, is kept to be seen, and the work is tried
again: it ends only when it is stopped, or with the log.
"""

import threading
from collections.abc import Callable

from everloop.errors import EverloopError
from everloop.log import Log
from everloop.log.ownership import Claim

TAKE_OVER_S = 1.0
AGAIN_S = 1.0  # after trouble
LEAVE_S = 5.0

Work = Callable[[Claim], None]


class Duty:
    """A thread that does one piece of work, whenever it is this process's to do."""

    def __init__(self, log: Log, claim: str, name: str, work: Work) -> None:
        self._log, self._claim, self._does = log, claim, work
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self.stopping = threading.Event()
        self.held = threading.Event()  # set while it is ours
        self.problem: EverloopError | None = None  # what keeps it from working, if anything does

    def start(self) -> None:
        """Begin as soon as it is ours."""
        self._thread.start()

    def stop(self) -> None:
        """End it after what is at hand, without waiting for a model that thinks for long.

        Harmless if it never began; what it would record after the log is closed is made anew.
        """
        self.stopping.set()
        if self._thread.is_alive():
            self._thread.join(LEAVE_S)

    @property
    def over(self) -> bool:
        """Whether there is no more to be done here."""
        return self.stopping.is_set() or self._log.closed

    def _serve(self) -> None:
        while not self.over:
            try:
                self._once()
                self.problem = None
            except EverloopError as problem:
                self.problem = problem
                self.stopping.wait(AGAIN_S)

    def _once(self) -> None:
        claim = self._log.own(self._claim, wait_s=TAKE_OVER_S)
        if claim is None:
            return
        with claim:
            self.held.set()
            try:
                self._does(claim)
            finally:
                self.held.clear()
