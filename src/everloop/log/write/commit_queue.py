"""Group commit: many callers share one transaction and one disk sync.

A caller that gets the write lock writes for everyone who waits, so a single caller needs no thread
switch. Other callers leave their append to the writer thread; asyncio callers always do, because
they must never wait for a lock.
"""

import threading
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from everloop.errors import Unavailable
from everloop.log.write.append import AppendRequest, Receipt

WAIT_S = 1.0


class CommitQueue:
    """The queue of waiting appends. Safe from any number of threads and event loops."""

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
        self._closed = False

    def write(self, work: AppendRequest) -> Receipt:
        """Write an append and wait until it is durable."""
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
        with self.write_lock:
            for work in works:
                self._enqueue(work)
            for work in works:
                self._write_through(work)
        return [work.outcome() for work in works]

    async def write_async(self, work: AppendRequest) -> Receipt:
        """Write an append without blocking the event loop."""
        work.written = get_running_loop().create_future()
        self._enqueue(work)
        self._start_thread()
        if not self._work_arrived.is_set():  # else the thread will find this one anyway
            self._work_arrived.set()
        await work.written
        return work.outcome()

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
            if len(batch) > 1 or first.written is not None or first.done is not None:
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
            with self.write_lock:
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
    """Notify all callers of a batch; each event loop is woken only once."""
    loops: dict[AbstractEventLoop, list[Future[None]]] = {}
    for work in batch:
        if work.written is not None:
            loops.setdefault(work.written.get_loop(), []).append(work.written)
        elif work.done is not None:
            work.done()
    for loop, written in loops.items():
        with suppress(RuntimeError):  # the loop was closed, so nobody waits there
            loop.call_soon_threadsafe(_resolve, written)


def _resolve(written: "Sequence[Future[None]]") -> None:
    for one in written:
        if not one.done():  # the waiting task may have been cancelled
            one.set_result(None)
