"""Group commit: many callers, one transaction.

Whoever finds the pen free takes it and writes for everyone waiting, so a lone caller pays for no
thread switch. Whoever does not leaves the work to a thread of ours, and event loops always do: they
never wait for a lock. Many callers thus share one trip to the disk.
"""

import threading
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from everloop.errors import Unavailable
from everloop.log.write.append import Receipt, Work

WAIT_S = 1.0


class Writer:
    """The queue before the scribe. Safe from any number of threads and event loops."""

    def __init__(self, commit: Callable[[Sequence[Work]], None], *, batch_max: int) -> None:
        self.pen = threading.Lock()
        self._commit = commit
        self._batch_max = batch_max
        self._waiting: deque[Work] = deque()
        self._batch: list[Work] = []
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def write(self, work: Work) -> Receipt:
        """Carry out a work and wait until it is durable."""
        if not self.pen.acquire(False):  # by place: to name it costs more than the lock itself
            self._wait(work)
        else:
            try:
                if self._waiting or self._closed:
                    self._enqueue(work)
                    self._write_through(work)
                else:  # nobody is before us
                    self._write_batch([work])
            finally:
                self.pen.release()
        return work.outcome()

    def write_all(self, works: Sequence[Work]) -> list[Receipt]:
        """Carry out works in their order, as many in one transaction as go into a batch.

        Each is all or nothing by itself. The first error is raised when all have been tried.
        """
        with self.pen:
            for work in works:
                self._enqueue(work)
            for work in works:
                self._write_through(work)
        return [work.outcome() for work in works]

    async def write_soon(self, work: Work) -> Receipt:
        """Carry out a work without blocking the event loop."""
        work.written = get_running_loop().create_future()
        self._enqueue(work)
        self._start_thread()
        if not self._wanted.is_set():  # else the thread has yet to look, and will find this too
            self._wanted.set()
        await work.written
        return work.outcome()

    def gather(self) -> None:
        """Let those who came meanwhile join the batch, whose transaction begins only now."""
        while self._waiting and len(self._batch) < self._batch_max:
            self._batch.append(self._waiting.popleft())

    def close(self) -> None:
        """Finish what is waiting, then refuse."""
        with self.pen:
            self._closed = True
            while self._waiting:
                self._write_some()
        thread = self._thread
        if thread is not None:
            self._wanted.set()
            thread.join()

    def _enqueue(self, work: Work) -> None:
        closed = self._closed
        if not closed:
            self._waiting.append(work)
        if self._closed and not closed:  # it was closed between the two lines, and perhaps emptied
            try:
                self._waiting.remove(work)
                closed = True
            except ValueError:
                return  # whoever closes it carries this out, too
        if closed:
            raise Unavailable("this log is closed", hint="Open it again.")

    def _write_some(self) -> None:
        """Carry out the works that are waiting now, at most a batch of them."""
        self._batch = []
        self.gather()
        if self._batch:
            self._write_batch(self._batch)

    def _write_batch(self, batch: list[Work]) -> None:
        self._batch = batch  # those who come meanwhile may join it
        try:
            self._commit(batch)
        finally:
            first = batch[0]  # whoever holds the pen for a work of its own need not be told
            if len(batch) > 1 or first.written is not None or first.done is not None:
                wake(batch)

    def _write_through(self, work: Work) -> None:
        """Carry out this work and all that waits before it; the caller holds the pen."""
        while work.receipt is None and work.error is None:
            self._write_some()

    def _wait(self, work: Work) -> None:
        """Leave a work to our thread, and wait until it is done.

        Not by waiting for the pen: who is done would queue behind who is not, and the batches would
        stay small.
        """
        gate = threading.Lock()
        gate.acquire()
        work.done = gate.release
        self._enqueue(work)
        self._start_thread()
        self._wanted.set()
        while not gate.acquire(timeout=WAIT_S):
            if self.pen.acquire(blocking=False):  # so that nobody depends on the thread's life
                try:
                    self._write_through(work)
                finally:
                    self.pen.release()

    def _start_thread(self) -> None:
        if self._thread is None:
            with self.pen:
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._serve, name="everloop-writer", daemon=True
                    )
                    self._thread.start()

    def _serve(self) -> None:
        while not self._closed:
            self._wanted.wait()
            self._wanted.clear()
            while self._waiting:
                # Whatever it was, each work has its error by now; the thread is for all the others.
                with self.pen, suppress(BaseException):
                    self._write_some()


def wake(batch: Sequence[Work]) -> None:
    """Tell everyone whose work is done; an event loop is woken once, however many wait there."""
    loops: dict[AbstractEventLoop, list[Future[None]]] = {}
    for work in batch:
        if work.written is not None:
            loops.setdefault(work.written.get_loop(), []).append(work.written)
        elif work.done is not None:
            work.done()
    for loop, written in loops.items():
        with suppress(RuntimeError):  # the loop was closed; nobody waits there any more
            loop.call_soon_threadsafe(_resolve, written)


def _resolve(written: "Sequence[Future[None]]") -> None:
    for one in written:
        if not one.done():  # who waited may have been cancelled
            one.set_result(None)
