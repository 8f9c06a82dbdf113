"""From asynchronous libraries to the synchronous port: streams that any thread can read and stop.

All calls share one event loop in a thread of its own, started when first needed. So connections
are kept between calls, and closing a stream breaks off its call at once, whatever it waits for.
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

from everloop.adapters.models.errors import Transient
from everloop.ports import Chunk

T = TypeVar("T")

STOP_S = 2.0  # how long the end of the program waits for calls to be broken off


class Background:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, work: Coroutine[Any, Any, None]) -> "Future[None]":
        """Have work done there."""
        with self._lock:
            if self._loop is None:
                self._loop = self._begin()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def forget(self) -> None:
        """Begin anew: a process that was forked off has the loop, but not the thread."""
        self._lock = threading.Lock()
        self._loop = None

    def _begin(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=_serve, args=(loop,), name="models", daemon=True)
        thread.start()
        atexit.register(_end, loop, thread)
        return loop


BACKGROUND = Background()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BACKGROUND.forget)


class BackgroundStream:
    """An answer that is made in the background and read here."""

    def __init__(self, source: AsyncGenerator[Chunk], background: Background = BACKGROUND) -> None:
        self._given: SimpleQueue[Chunk | None] = SimpleQueue()
        self._closed = False
        self._work = background.start(_pump(source, self._given))

    def __iter__(self) -> Self:
        """The stream itself."""
        return self

    def __next__(self) -> Chunk:
        """The next chunk, as soon as there is one."""
        chunk = None if self._closed else self._given.get()
        if chunk is not None and not self._closed:
            return chunk
        if not self._closed:
            self._closed = True
            self._work.result()  # raises what went wrong
        raise StopIteration

    def close(self) -> None:
        """Break the call off, from any thread."""
        self._closed = True
        self._work.cancel()
        self._given.put(None)

    def __del__(self) -> None:
        """A stream that nobody reads any more is not paid for any longer."""
        self._work.cancel()


async def heard(source: AsyncIterator[T], timeout_s: float) -> AsyncGenerator[T]:
    """What comes from a source; a silence that is too long is a failure.

    Raises:
        Transient: nothing came for `timeout_s`.
    """
    while True:
        try:
            item = await within(anext(source), timeout_s)
        except StopAsyncIteration:
            return
        yield item


async def within(waiting: Awaitable[T], timeout_s: float) -> T:
    """What is waited for, if it comes in time.

    Raises:
        Transient: it did not.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await waiting
    except TimeoutError:
        raise Transient(
            f"the model said nothing for {timeout_s:g} s",
            hint="Try again, or raise models.timeout_s.",
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


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join(STOP_S)
