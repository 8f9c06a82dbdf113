"""`everloop rpc`: open the engine, admit the host, serve until its input ends or a signal.

Standard output carries responses and nothing else; the process logs to standard error.
"""

import re
import socket
import sys
from argparse import Namespace
from contextlib import closing, suppress
from pathlib import Path

from everloop.app import Engine
from everloop.host_admission import admit_host, host_actor, no_access_hint
from everloop.interfaces.rpc.connection import RpcConnection
from everloop.interfaces.rpc.host import RpcHost
from everloop.interfaces.rpc.method_table import METHODS
from everloop.interfaces.rpc.shutdown import ShutdownRequested, ShutdownSignal
from everloop.interfaces.rpc.streams import InterruptibleStream, own_output, serve_lines
from everloop.interfaces.rpc.unix_socket import UnixSocketServer
from everloop.log import Context
from everloop.settings import DoorSettings, load

SESSION_PREFIX = "rpc"  # prefix of a connection's session id
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class RpcServer:
    """Serves one host on an open engine, over standard streams or a socket."""

    def __init__(self, engine: Engine, actor: str, limits: DoorSettings) -> None:
        self._engine = engine
        self._actor = actor
        self._limits = limits

    def new_connection(self) -> RpcConnection[RpcHost]:
        """A new connection with its own session id."""
        session = self._engine.log.ids.new(SESSION_PREFIX)
        host = RpcHost(self._engine, Context(actor=self._actor, session=session))
        return RpcConnection(host, METHODS, self._limits, write_log_line)

    def serve_stdio(self, leaving: ShutdownSignal) -> None:
        """Serve one host on standard input and output."""
        questions = InterruptibleStream(sys.stdin.buffer, leaving)
        write_log_line(f"ready as {self._actor}")
        with suppress(BrokenPipeError, ShutdownRequested), closing(own_output()) as answers:
            serve_lines(self.new_connection(), questions, answers, self._limits.line_bytes_max)

    def serve_socket(self, path: Path, leaving: ShutdownSignal) -> None:
        """Serve many connections on a Unix socket."""
        door = UnixSocketServer(path, self._on_connection, self._limits.connections_max)
        door.listen(leaving, lambda: write_log_line(f"ready as {self._actor} at {path}"))

    def _on_connection(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as questions, connection.makefile("wb") as answers:
            serve_lines(self.new_connection(), questions, answers, self._limits.line_bytes_max)


def serve(asked: Namespace) -> int:
    """Serve with the command line's options, and return the exit code."""
    leaving = ShutdownSignal()
    leaving.install_handlers()
    actor = host_actor(asked.host)
    settings = load(home=asked.home)
    with Engine.open(settings=settings, tenant=asked.tenant) as engine:
        if admit_host(engine, actor, settings.doors, by_command=True):
            write_log_line(f"gave {actor} access to every scope; `everloop grants` shows it")
        elif hint := no_access_hint(engine, actor):
            write_log_line(hint)
        door = RpcServer(engine, actor, settings.doors)
        if asked.socket is None:
            door.serve_stdio(leaving)
        else:
            door.serve_socket(Path(asked.socket).expanduser(), leaving)
    return 0


def write_log_line(line: str) -> None:
    """Write a line to standard error, with control characters of stored text replaced."""
    sys.stderr.write(_CONTROL.sub("?", f"everloop rpc: {line}\n"))
    sys.stderr.flush()
