"""A TCP proxy in front of the server that can cut a connection around a commit."""

import contextlib
import socket
import tempfile
import threading
import urllib.parse
from collections.abc import Generator
from pathlib import Path
from typing import Literal

from psycopg.conninfo import conninfo_to_dict

Fault = Literal["before the server has it", "before the answer is back"]

SOCKET = ".s.PGSQL.5432"
COMMIT = b"commit\0"  # the name of the prepared statement, as a client calls it
COMMITTED = b"COMMIT\0"  # the server's reply that it is done


class Proxy:
    """Forwards everything, until it is told to cut one connection at its next commit."""

    def __init__(self, server: Path, folder: Path) -> None:
        self._server = server
        self._fault: Fault | None = None
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / SOCKET))
        self._listener.listen()
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_next_commit(self, fault: Fault) -> None:
        """Cut the connection on which the next commit arrives."""
        self._fault = fault

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server / SOCKET))
                threading.Thread(target=self._ask, args=(client, server), daemon=True).start()
                threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                fault = self._fault if COMMIT in data else None
                if fault:
                    self._fault = None
                    self.cuts += 1
                if fault == "before the answer is back":
                    client.shutdown(socket.SHUT_RDWR)  # nothing reaches the server from here on
                    server.sendall(data)
                    return  # the other thread keeps reading until the server is done
                if fault:
                    break
                server.sendall(data)
        _hang_up(client, server)


def _pass_on(server: socket.socket, client: socket.socket) -> None:
    gone = False
    with contextlib.suppress(OSError):
        while data := server.recv(65536):
            if not gone:
                try:
                    client.sendall(data)
                except OSError:
                    gone = True
            if gone and COMMITTED in data:
                break
    _hang_up(client, server)


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextlib.contextmanager
def proxy_before(url: str) -> Generator[tuple[Proxy, str]]:
    """A proxy, and the URL that goes through it."""
    folder = Path(tempfile.mkdtemp(prefix="proxy-", dir="/tmp"))  # a socket's path must be short
    server = Path(str(conninfo_to_dict(url)["host"]))
    proxy = Proxy(server, folder)
    quoted = urllib.parse.quote(str(folder), safe="")
    try:
        yield proxy, f"{url.partition('host=')[0]}host={quoted}"
    finally:
        proxy.close()
        (folder / SOCKET).unlink(missing_ok=True)
        folder.rmdir()
