"""EmbeddingTask in the background: every passage gets its vector, now and as items come.

The work is what the log lacks: which passage has no vector of the current embedder? A crash or a
change of embedder leaves nothing behind but more of that work, so there is no queue to lose.
"""

import threading
from contextlib import suppress
from math import ceil

from everloop.background.task import BackgroundTask
from everloop.errors import EverloopError, ModelFailed
from everloop.log.model.facts import Purged
from everloop.log.ownership import Claim
from everloop.memory.model.events import Remembered, Revised
from everloop.memory.service import MemoryService

RETRY_S, RETRY_MAX_S = 2.0, 60.0  # exponential backoff of a failing embedder: first and longest


class EmbeddingTask(BackgroundTask):
    """Gives items their vectors. Every process does it for its own cache; search goes on."""

    def __init__(self, memory: MemoryService, *, retry_s: float = RETRY_S) -> None:
        super().__init__(memory.log, "embedding", self._work)
        self._memory = memory
        self._retry_s = retry_s
        self.idle = threading.Event()  # set while nothing is missing

    def _work(self, _: Claim) -> None:
        head = self._log.head
        self._embed()
        for fact in self._log.follow(after=head, stop=self.stopping):
            if isinstance(fact.event, Remembered | Revised | Purged):  # another node's, perhaps
                self._embed()

    def _embed(self) -> None:
        """Make what is missing. A failing embedder is tried again with exponential backoff."""
        wait_s = self._retry_s
        while not self._done() and not self._stopped_within(wait_s):
            wait_s = min(2 * wait_s, RETRY_MAX_S)

    def _stopped_within(self, wait_s: float) -> bool:
        """Wait, or until something new was recorded; returns whether to stop."""
        head = self._head()
        for _ in range(ceil(wait_s / self._retry_s)):
            if self.stopping.wait(self._retry_s):
                return True
            if self._head() != head:
                break
        return False

    def _head(self) -> int:
        with suppress(EverloopError):  # a disk that fails is left alone as an embedder is
            return self._log.head
        return 0

    def _done(self) -> bool:
        """Embed what is missing; returns whether that succeeded."""
        self.idle.clear()
        try:
            self._memory.embed_missing(self._note, lambda: not self.over)
        except EverloopError as problem:
            self.problem = problem
            return False
        except Exception as problem:  # noqa: BLE001 - a broken embedder must not end the task
            self.problem = ModelFailed(f"the embedder broke: {problem!r}")
            return False
        self.problem, self.progress = None, (0, 0)
        self.idle.set()
        return True

    def _note(self, done: int, total: int) -> None:
        self.progress = (done, total)
