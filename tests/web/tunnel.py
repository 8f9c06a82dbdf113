"""A way to the house that can fall silent, as a phone's does while it sleeps: nobody says so."""

import socket
import struct
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial

PIECE = 65_536
GONE = struct.pack("ii", 1, 0)  # closed without a farewell


class Tunnel:
    """Carries bytes between browsers and a house. Connections that fell silent stay silent."""

    def __init__(self, listening: socket.socket, port: int) -> None:
        self._listening = listening
        self._port = port
        self._silent: set[int] = set()
        self._open: dict[int, tuple[socket.socket, socket.socket]] = {}
        self._threads: list[threading.Thread] = []
        self._begin(self.carry)

    @property
    def port(self) -> int:
        """Where browsers come in."""
        return int(self._listening.getsockname()[1])

    def fall_silent(self) -> None:
        """From now on, nothing comes by the connections that there are; new ones work.

        Whoever still asks something by an old one hears that it is gone.
        """
        self._silent |= set(self._open)

    def carry(self) -> None:
        """Take connections in until it is closed."""
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._join(len(self._open), near)

    def close(self) -> None:
        """Close everything, and wait until it is."""
        _end(self._listening)
        for pair in list(self._open.values()):
            for end in pair:
                _end(end)
        for thread in self._threads:
            thread.join()

    def _join(self, number: int, near: socket.socket) -> None:
        try:
            far = socket.create_connection(("127.0.0.1", self._port))
        except OSError:  # the house is closed
            near.close()
            return
        self._open[number] = (near, far)
        for source, target in ((near, far), (far, near)):
            self._begin(partial(self._pour, number, source, target))

    def _begin(self, does: Callable[[], None]) -> None:
        thread = threading.Thread(target=does, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _pour(self, number: int, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                if number not in self._silent:
                    target.sendall(piece)
                elif source is self._open[number][0]:
                    source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, GONE)
                    source.close()
            if number not in self._silent:
                target.shutdown(socket.SHUT_WR)


@contextmanager
def tunnel_to(port: int) -> Generator[Tunnel]:
    """Open a tunnel to a port of this machine, and close it at the end."""
    tunnel = Tunnel(socket.create_server(("127.0.0.1", 0)), port)
    try:
        yield tunnel
    finally:
        tunnel.close()


def _end(one: socket.socket) -> None:
    """Close a socket that another thread may be waiting for."""
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
