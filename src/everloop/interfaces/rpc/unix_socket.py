"""A Unix socket: many hosts at once, a thread for each. Only its owner can knock."""

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
from everloop.interfaces.rpc.shutdown import Leaving, Left

BACKLOG: Final = 64
PATIENCE_S: Final = 5.0  # with a host that does not take its last answer
PRIVATE: Final = 0o177  # what the mask takes away, so that the socket is 0600 from the beginning

Serve = Callable[[socket.socket], None]


class SocketDoor:
    """Serves connections until it is told to leave; then each gets the answer it waits for."""

    def __init__(self, path: Path, serve: Serve, connections_max: int) -> None:
        self._path = path
        self._serve = serve
        self._places = threading.BoundedSemaphore(connections_max)
        self._open: set[socket.socket] = set()
        self._left = threading.Condition()

    def listen(self, leaving: Leaving, ready: Callable[[], None]) -> None:
        """Serve until a signal comes.

        Raises:
            Conflict: another process serves there.
            Invalid: something else is there, or the path is no place for a socket.
        """
        with _bound(self._path) as listener:
            ours = self._path.stat().st_ino
            try:
                listener.listen(BACKLOG)
                ready()
                while True:
                    self._welcome(listener, leaving)
            except Left:
                self._say_goodbye()
            finally:
                with suppress(OSError):
                    if self._path.lstat().st_ino == ours:
                        self._path.unlink()

    def _welcome(self, listener: socket.socket, leaving: Leaving) -> None:
        with leaving.waiting():
            self._places.acquire()
            select((listener, *leaving.bells), (), ())
            connection, _ = listener.accept()
        with self._left:
            self._open.add(connection)
        threading.Thread(target=self._attend, args=(connection,), name="everloop-rpc").start()

    def _attend(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):  # a host may go away whenever it likes
                self._serve(connection)
        finally:
            self._places.release()
            with self._left:
                self._open.discard(connection)
                self._left.notify()

    def _say_goodbye(self) -> None:
        """Read no more; wait until what was asked is answered, and not for ever."""
        for how in (socket.SHUT_RD, socket.SHUT_RDWR):
            with self._left:
                for connection in self._open:
                    with suppress(OSError):
                        connection.shutdown(how)
                self._left.wait_for(lambda: not self._open, PATIENCE_S)


def _bound(path: Path) -> socket.socket:
    _make_room(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(PRIVATE)
    try:
        listener.bind(str(path))
    except OSError as problem:
        listener.close()
        raise Invalid(
            f"no socket can be made at {str(path)!r}: {problem.strerror or problem}",
            hint="Choose a short path in a folder of yours.",
        ) from problem
    finally:
        os.umask(mask)
    return listener


def _make_room(path: Path) -> None:
    """Remove a socket that nobody serves; leave anything else alone."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except OSError as problem:
        raise Unavailable(f"{str(path)!r} cannot be looked at: {problem.strerror}") from problem
    if not stat.S_ISSOCK(found.st_mode):
        raise Invalid(f"{str(path)!r} is not a socket", hint="Choose another path.")
    if _answers(path):
        raise Conflict(f"another process serves at {str(path)!r}", hint="Choose another path.")
    path.unlink(missing_ok=True)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        try:
            knock.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError as problem:
            raise Unavailable(
                f"{str(path)!r} cannot be used: {problem.strerror or problem}",
                hint="Choose another path.",
            ) from problem
    return True
