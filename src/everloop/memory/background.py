"""When this happened, do that: what memory does in the background.

The work is what the log lacks: which passage has no vector of the embedder in use? A crash or a
change of embedder leaves nothing behind but more of that work, so there is no queue to lose.
"""

import threading
from contextlib import suppress
from math import ceil

from everloop.errors import EverloopError, ModelFailed
from everloop.log.model.facts import Purged
from everloop.memory.model.events import Remembered, Revised
from everloop.memory.service import Keeper

LEAVE_S = 5.0  # how long whoever closes waits for a batch
RETRY_S, RETRY_MAX_S = 2.0, 60.0  # how long a failing embedder is left alone, at first and at most


class Embedding:
    """A thread that gives items their vectors, now and as they come. Search goes on meanwhile."""

    def __init__(self, keeper: Keeper, *, retry_s: float = RETRY_S) -> None:
        self._keeper = keeper
        self._retry_s = retry_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="everloop-embed", daemon=True)
        self.problem: EverloopError | None = None
        self.stands = (0, 0)  # how many vectors were made, of how many that were missing
        self.idle = threading.Event()  # set while nothing is missing

    def start(self) -> None:
        """Begin with what is missing."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the batch at hand. An embedder that hangs is not waited for."""
        self._stop.set()
        self._thread.join(LEAVE_S)

    def _serve(self) -> None:
        head = self._keeper.log.head
        self._embed()
        for fact in self._keeper.log.follow(after=head, stop=self._stop):
            if isinstance(fact.event, Remembered | Revised | Purged):  # another node's, perhaps
                self._embed()

    def _embed(self) -> None:
        """Make what is missing. A failing embedder is tried again, after longer and longer."""
        wait_s = self._retry_s
        while not self._done() and not self._stopped_within(wait_s):
            wait_s = min(2 * wait_s, RETRY_MAX_S)

    def _stopped_within(self, wait_s: float) -> bool:
        """Wait, until something comes that may do better; whether that is to stop."""
        head = self._head()
        for _ in range(ceil(wait_s / self._retry_s)):
            if self._stop.wait(self._retry_s):
                return True
            if self._head() != head:
                break
        return False

    def _head(self) -> int:
        with suppress(EverloopError):  # a disk that fails is left alone as an embedder is
            return self._keeper.log.head
        return 0

    def _done(self) -> bool:
        """Whether nothing is missing any more, or nobody wants it; why not is noted."""
        self.idle.clear()
        try:
            self._keeper.embed_missing(self._note, lambda: not self._stop.is_set())
        except EverloopError as problem:
            self.problem = problem
            return False
        except Exception as problem:  # noqa: BLE001 - whatever an embedder does, others go on
            self.problem = ModelFailed(f"the embedder broke: {problem!r}")
            return False
        self.problem, self.stands = None, (0, 0)
        self.idle.set()
        return True

    def _note(self, done: int, total: int) -> None:
        self.stands = (done, total)
