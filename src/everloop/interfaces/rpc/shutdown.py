"""Graceful shutdown on SIGTERM or SIGINT: between two requests, never during one."""

import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class ShutdownRequested(BaseException):
    """Stop serving. A `BaseException`, so that no error handler catches it by accident."""


class ShutdownSignal:
    """Turns termination signals into an exception in the thread that waits for requests."""

    def __init__(self) -> None:
        self._requested = False
        self._idle = False
        self.wakeup_sockets: tuple[socket.socket, ...] = ()  # readable once a signal has arrived

    def install_handlers(self) -> None:
        """Install the signal handlers. Only the main thread can do this."""
        # A signal right before a system call would not interrupt it; the wakeup socket does.
        wakeup_reader, self._wakeup_writer = socket.socketpair()
        self._wakeup_writer.setblocking(False)
        signal.set_wakeup_fd(self._wakeup_writer.fileno(), warn_on_full_buffer=False)
        self.wakeup_sockets = (wakeup_reader,)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    @contextmanager
    def interruptible_wait(self) -> Generator[None]:
        """While open, a signal raises `Left`."""
        self._idle = True  # first: later signals raise, earlier ones have set `_requested`
        try:
            if self._requested:
                raise ShutdownRequested
            yield
        finally:
            self._idle = False

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._requested = True
        if self._idle:
            raise ShutdownRequested
