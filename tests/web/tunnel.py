"""A way to the house that can fall silent, as a phone's does while it sleeps: nobody says so."""

import socket
import struct
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

PIECE = 65_536
GONE = struct.pack("ii", 1, 0)  # closed without a farewell


class Tunnel:
    """Carries bytes between browsers and a house. Connections that fell silent stay silent."""

    def __init__(self, listening: socket.socket, port: int) -> None:
        self._listening = listening
        self._port = port
        self._silent: set[int] = set()
        self._open: dict[int, tuple[socket.socket, socket.socket]] = {}

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
            for number in range(1_000_000):
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                self._open[number] = (near, far)
                for source, target in ((near, far), (far, near)):
                    arguments = (number, source, target)
                    threading.Thread(target=self._pour, args=arguments, daemon=True).start()

    def close(self) -> None:
        """Close everything."""
        self._listening.close()
        for pair in list(self._open.values()):
            for end in pair:
                end.close()

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
    threading.Thread(target=tunnel.carry, daemon=True).start()
    try:
        yield tunnel
    finally:
        tunnel.close()
