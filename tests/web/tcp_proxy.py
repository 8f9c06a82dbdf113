"""A TCP proxy whose connections can stall without closing, like those of a sleeping phone."""

import socket
import struct
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial

CHUNK = 65_536
RESET = struct.pack("ii", 1, 0)  # close with a TCP reset


class TcpProxy:
    """Forwards bytes between browsers and a server. Stalled connections stay stalled."""

    def __init__(self, listening: socket.socket, port: int) -> None:
        self._listening = listening
        self._port = port
        self._stalled: set[int] = set()
        self._open: dict[int, tuple[socket.socket, socket.socket]] = {}
        self._threads: list[threading.Thread] = []
        self._start(self.accept)

    @property
    def port(self) -> int:
        """The port that browsers connect to."""
        return int(self._listening.getsockname()[1])

    def stall(self) -> None:
        """Stall all open connections; new ones work.

        A request over a stalled connection resets it.
        """
        self._stalled |= set(self._open)

    def accept(self) -> None:
        """Accept connections until it is closed."""
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._connect(len(self._open), near)

    def close(self) -> None:
        """Close all connections and wait for the threads."""
        _close(self._listening)
        for pair in list(self._open.values()):
            for end in pair:
                _close(end)
        for thread in self._threads:
            thread.join()

    def _connect(self, number: int, near: socket.socket) -> None:
        try:
            far = socket.create_connection(("127.0.0.1", self._port))
        except OSError:  # the start_server is closed
            near.close()
            return
        self._open[number] = (near, far)
        for source, target in ((near, far), (far, near)):
            self._start(partial(self._forward, number, source, target))

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _forward(self, number: int, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(CHUNK):
                if number not in self._stalled:
                    target.sendall(chunk)
                elif source is self._open[number][0]:
                    source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    source.close()
            if number not in self._stalled:
                target.shutdown(socket.SHUT_WR)


@contextmanager
def proxy_to(port: int) -> Generator[TcpProxy]:
    """Start a proxy to a local port, and close it at the end."""
    proxy = TcpProxy(socket.create_server(("127.0.0.1", 0)), port)
    try:
        yield proxy
    finally:
        proxy.close()


def _close(one: socket.socket) -> None:
    """Close a socket that another thread may be waiting for."""
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
