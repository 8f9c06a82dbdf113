"""Group commit: many callers share one transaction and one disk sync.

A caller that gets the write lock writes for everyone who waits, so a single caller needs no thread
switch. Other callers leave their append to the writer thread and wait.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from everloop.errors import Unavailable
from everloop.log.write.append import AppendRequest, Receipt
from everloop.tracing import span

WAIT_S = 1.0


class CommitQueue:
    """The queue of waiting appends. Safe from any number of threads."""

    def __init__(
        self, commit: Callable[[Sequence[AppendRequest]], None], *, batch_max: int
    ) -> None:
        self.write_lock = threading.Lock()
        self._commit = commit
        self._batch_max = batch_max
        self._waiting: deque[AppendRequest] = deque()
        self._batch: list[AppendRequest] = []
        self._work_arrived = threading.Event()
        self._thread: threading.Thread | None = None
        self._thread_lock = threading.Lock()
        self._closed = False

    def write(self, work: AppendRequest) -> Receipt:
        """Write an append and wait until it is durable."""
        with span("log.append"):
            return self._write(work)

    def _write(self, work: AppendRequest) -> Receipt:
        if not self.write_lock.acquire(
            False
        ):  # positional: a keyword costs more than the lock itself
            self._wait(work)
        else:
            try:
                if self._waiting or self._closed:
                    self._enqueue(work)
                    self._write_through(work)
                else:  # nothing is waiting
                    self._write_batch([work])
            finally:
                self.write_lock.release()
        return work.outcome()

    def write_all(self, works: Sequence[AppendRequest]) -> list[Receipt]:
        """Write appends in order, up to a full batch in each transaction.

        Each append is atomic by itself. The first error is raised after all were tried.
        """
        with span("log.append", appends=len(works)), self.write_lock:
            for work in works:
                self._enqueue(work)
            for work in works:
                self._write_through(work)
        return [work.outcome() for work in works]

    def add_late_arrivals(self) -> None:
        """Add appends that arrived meanwhile to the batch, whose transaction begins only now."""
        while self._waiting and len(self._batch) < self._batch_max:
            self._batch.append(self._waiting.popleft())

    def close(self) -> None:
        """Write all waiting appends, then refuse new ones."""
        with self.write_lock:
            self._closed = True
            while self._waiting:
                self._write_waiting()
        thread = self._thread
        if thread is not None:
            self._work_arrived.set()
            thread.join()

    def _enqueue(self, work: AppendRequest) -> None:
        closed = self._closed
        if not closed:
            self._waiting.append(work)
        if self._closed and not closed:  # close() ran between the two lines and may have emptied it
            try:
                self._waiting.remove(work)
                closed = True
            except ValueError:
                return  # close() writes this one, too
        if closed:
            raise Unavailable("this log is closed", hint="Open it again.")

    def _write_waiting(self) -> None:
        """Write the appends that are waiting now, at most one batch."""
        self._batch = []
        self.add_late_arrivals()
        if self._batch:
            self._write_batch(self._batch)

    def _write_batch(self, batch: list[AppendRequest]) -> None:
        self._batch = batch  # `gather` may add later arrivals
        try:
            self._commit(batch)
        finally:
            first = batch[0]  # a caller that writes its own append needs no wake-up
            if len(batch) > 1 or first.done is not None:
                wake(batch)

    def _write_through(self, work: AppendRequest) -> None:
        """Write this append and all before it; the caller holds the write lock."""
        while work.receipt is None and work.error is None:
            self._write_waiting()

    def _wait(self, work: AppendRequest) -> None:
        """Leave an append to the writer thread and wait until it is done.

        Not by waiting for the write lock: callers whose append is done would queue behind those
        whose append is not, and batches would stay small.
        """
        done_lock = threading.Lock()
        done_lock.acquire()
        work.done = done_lock.release
        self._enqueue(work)
        self._start_thread()
        self._work_arrived.set()
        while not done_lock.acquire(timeout=WAIT_S):
            if self.write_lock.acquire(blocking=False):  # in case the thread has died
                try:
                    self._write_through(work)
                finally:
                    self.write_lock.release()

    def _start_thread(self) -> None:
        if self._thread is None:
            with self._thread_lock:  # not the write lock: a busy caller may hold that for long
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._run, name="everloop-writer", daemon=True
                    )
                    self._thread.start()

    def _run(self) -> None:
        while not self._closed:
            self._work_arrived.wait()
            self._work_arrived.clear()
            while self._waiting:
                # Each failed append has its error by now; the thread goes on for all the others.
                with self.write_lock, suppress(BaseException):
                    self._write_waiting()


def wake(batch: Sequence[AppendRequest]) -> None:
    """Notify all callers of a batch that wait."""
    for work in batch:
        if work.done is not None:
            work.done()
