"""When to stop: a signal asks, and the door leaves between two requests, never inside one."""

import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class Left(BaseException):
    """Nobody is to be served any more. Not an error, so that nothing catches it by accident."""


class Leaving:
    """Listens to the signals that end a process, for the thread that waits for requests."""

    def __init__(self) -> None:
        self._asked = False
        self._idle = False
        self.bells: tuple[socket.socket, ...] = ()  # can be read once a signal has come

    def listen(self) -> None:
        """Take the signals over. Only the main thread can."""
        # One that comes right before a call to the system begins would not interrupt it.
        bell, self._rope = socket.socketpair()
        self._rope.setblocking(False)
        signal.set_wakeup_fd(self._rope.fileno(), warn_on_full_buffer=False)
        self.bells = (bell,)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)

    @contextmanager
    def waiting(self) -> Generator[None]:
        """While this lasts, a signal ends the wait by raising `Left`."""
        self._idle = True  # first: a signal from here on raises, an earlier one has set `_asked`
        try:
            if self._asked:
                raise Left
            yield
        finally:
            self._idle = False

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        if self._idle:
            raise Left
