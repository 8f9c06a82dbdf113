"""Bridge from asynchronous model libraries to the synchronous port: thread-safe streams.

All calls share one event loop in a background thread, which starts with the first call. So
connections are reused between calls, and closing a stream cancels its call at once.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Coroutine
from concurrent.futures import Future
from contextlib import aclosing
from queue import SimpleQueue
from typing import Any, Self, TypeVar

from everloop.adapters.models.errors import TransientModelError
from everloop.ports import Chunk, Params

T = TypeVar("T")

STOP_S = 2.0  # seconds that program exit waits for calls to be cancelled


class BackgroundLoop:
    """An event loop in a background thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, work: Coroutine[Any, Any, None]) -> "Future[None]":
        """Run a coroutine on the loop."""
        with self._lock:
            if self._loop is None:
                self._loop = self._start_thread()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def reset_after_fork(self) -> None:
        """Reset after a fork: the child process has the loop, but not its thread."""
        self._lock = threading.Lock()
        self._loop = None

    def _start_thread(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=_serve, args=(loop,), name="models", daemon=True)
        thread.start()
        atexit.register(_stop_loop, loop, thread)
        return loop


BACKGROUND_LOOP = BackgroundLoop()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BACKGROUND_LOOP.reset_after_fork)


class BackgroundStream:
    """A stream that is produced on the event loop and read from any thread."""

    def __init__(
        self, source: AsyncGenerator[Chunk], background: BackgroundLoop = BACKGROUND_LOOP
    ) -> None:
        self._chunks: SimpleQueue[Chunk | None] = SimpleQueue()
        self._closed = False
        self._work = background.start(_pump(source, self._chunks))

    def __iter__(self) -> Self:
        """The stream itself."""
        return self

    def __next__(self) -> Chunk:
        """Wait for the next chunk."""
        chunk = None if self._closed else self._chunks.get()
        if chunk is not None and not self._closed:
            return chunk
        if not self._closed:
            self._closed = True
            self._work.result()  # raises the error of the call, if any
        raise StopIteration

    def close(self) -> None:
        """Cancel the call, from any thread."""
        self._closed = True
        self._work.cancel()
        self._chunks.put(None)

    def __del__(self) -> None:
        """Cancel the call of a stream that is no longer read, to stop its cost."""
        self._work.cancel()


async def iterate_with_timeout(source: AsyncIterator[T], params: Params) -> AsyncGenerator[T]:
    """Iterate over a source with a timeout for each item.

    Raises:
        Transient: no item arrived within `timeout_s`.
    """
    while True:
        try:
            item = await await_with_timeout(anext(source), params)
        except StopAsyncIteration:
            return
        yield item


async def await_with_timeout(waiting: Awaitable[T], params: Params) -> T:
    """Await with a timeout.

    Raises:
        Transient: the timeout passed.
    """
    try:
        async with asyncio.timeout(params.timeout_s):
            return await waiting
    except TimeoutError:
        raise TransientModelError(
            f"the model sent nothing for {params.timeout_s:g} s",
            hint=f"Try again, or raise {params.timeout_setting or 'models.timeout_s'}.",
        ) from None


async def _pump(source: AsyncGenerator[Chunk], given: "SimpleQueue[Chunk | None]") -> None:
    try:
        async with aclosing(source):
            async for chunk in source:
                given.put(chunk)
    finally:
        given.put(None)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _stop_loop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join(STOP_S)
