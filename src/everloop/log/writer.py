"""Group commit: many callers, one transaction.

Whoever finds the pen free takes it and writes for everyone waiting; the others find their work
done. A lone caller pays for no thread switch, and sixty-four share one trip to the disk. Event
loops hand their work to a thread of ours and never wait for a lock.
"""

import threading
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Callable, Sequence

from everloop.errors import Unavailable
from everloop.log.work import Receipt, Work


class Writer:
    """The queue before the scribe. Safe from any number of threads and event loops."""

    def __init__(self, commit: Callable[[Sequence[Work]], None], *, batch_max: int) -> None:
        self.pen = threading.Lock()
        self._commit = commit
        self._batch_max = batch_max
        self._waiting: deque[Work] = deque()
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def write(self, work: Work) -> Receipt:
        """Carry out a work and wait until it is durable."""
        self._enqueue(work)
        with self.pen:
            while work.receipt is None and work.error is None:
                self._write_some()
        return work.outcome()

    async def write_soon(self, work: Work) -> Receipt:
        """Carry out a work without blocking the event loop."""
        loop = get_running_loop()
        written: Future[None] = loop.create_future()
        work.done = _waker(loop, written)
        self._enqueue(work)
        self._start_thread()
        self._wanted.set()
        await written
        return work.outcome()

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
        if not self._closed:
            self._waiting.append(work)
        if self._closed:  # asked again: it may have been closed, and emptied, between the two lines
            try:
                self._waiting.remove(work)
            except ValueError:
                if work.receipt is not None or work.error is not None:
                    return
            raise Unavailable("this log is closed", hint="Open it again.")

    def _write_some(self) -> None:
        """Carry out the works that are waiting now, at most a batch of them."""
        batch: list[Work] = []
        while self._waiting and len(batch) < self._batch_max:
            batch.append(self._waiting.popleft())
        if not batch:
            return
        try:
            self._commit(batch)
        finally:
            wake(batch)

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
                with self.pen:
                    self._write_some()


def wake(batch: Sequence[Work]) -> None:
    """Tell the event loops whose works are done, once per loop."""
    for work in batch:
        if work.done is not None:
            work.done()


def _waker(loop: AbstractEventLoop, written: "Future[None]") -> Callable[[], None]:
    def resolve() -> None:
        if not written.done():
            written.set_result(None)

    def wake_up() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(resolve)

    return wake_up
