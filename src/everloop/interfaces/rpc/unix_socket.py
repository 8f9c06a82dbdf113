"""A Unix socket server: many hosts at once, one thread each. Only its owner can connect."""

import os
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Final

from everloop.errors import Conflict, Invalid, Unavailable
from everloop.interfaces.rpc.shutdown import ShutdownRequested, ShutdownSignal

BACKLOG: Final = 64
DRAIN_TIMEOUT_S: Final = 5.0  # with a host that does not read its last response
PRIVATE_UMASK: Final = 0o177  # umask, so that the socket is created with mode 0600

Serve = Callable[[socket.socket], None]


class UnixSocketServer:
    """Serves connections until a signal; then each gets the response it waits for."""

    def __init__(self, path: Path, serve: Serve, connections_max: int) -> None:
        self._path = path
        self._serve = serve
        self._slots = threading.BoundedSemaphore(connections_max)
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()

    def listen(self, leaving: ShutdownSignal, ready: Callable[[], None]) -> None:
        """Serve until a termination signal.

        Raises:
            Conflict: another process serves on this path.
            Invalid: the path is taken by another file, or a socket cannot be created there.
        """
        with _bind(self._path) as listener:
            ours = self._path.stat().st_ino
            try:
                listener.listen(BACKLOG)
                ready()
                while True:
                    self._accept(listener, leaving)
            except ShutdownRequested:
                self._drain()
            finally:
                with suppress(OSError):
                    if self._path.lstat().st_ino == ours:
                        self._path.unlink()

    def _accept(self, listener: socket.socket, leaving: ShutdownSignal) -> None:
        with leaving.interruptible_wait():
            self._slots.acquire()
            select((listener, *leaving.wakeup_sockets), (), ())
            connection, _ = listener.accept()
        with self._changed:
            self._open.add(connection)
        threading.Thread(target=self._handle, args=(connection,), name="everloop-rpc").start()

    def _handle(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):  # a host may disconnect at any time
                self._serve(connection)
        finally:
            self._slots.release()
            with self._changed:
                self._open.discard(connection)
                self._changed.notify()

    def _drain(self) -> None:
        """Stop reading, then wait a limited time for pending responses."""
        for how in (socket.SHUT_RD, socket.SHUT_RDWR):
            with self._changed:
                for connection in self._open:
                    with suppress(OSError):
                        connection.shutdown(how)
                self._changed.wait_for(lambda: not self._open, DRAIN_TIMEOUT_S)


def _bind(path: Path) -> socket.socket:
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(PRIVATE_UMASK)
    try:
        listener.bind(str(path))
    except OSError as problem:
        listener.close()
        raise Invalid(
            f"cannot create a socket at {str(path)!r}: {problem.strerror or problem}",
            hint="Choose a short path in a folder that you can write to.",
        ) from problem
    finally:
        os.umask(mask)
    return listener


def _remove_stale(path: Path) -> None:
    """Remove a stale socket that nobody serves; leave anything else alone."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except OSError as problem:
        raise Unavailable(f"cannot access {str(path)!r}: {problem.strerror}") from problem
    if not stat.S_ISSOCK(found.st_mode):
        raise Invalid(f"{str(path)!r} is not a socket", hint="Choose another path.")
    if _is_served(path):
        raise Conflict(
            f"another process already serves at {str(path)!r}", hint="Choose another path."
        )
    path.unlink(missing_ok=True)


def _is_served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError as problem:
            raise Unavailable(
                f"cannot use the socket {str(path)!r}: {problem.strerror or problem}",
                hint="Choose another path.",
            ) from problem
    return True
