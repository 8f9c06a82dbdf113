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
from everloop.host_admission import admit, host_of
from everloop.interfaces.rpc.connection import Conversation
from everloop.interfaces.rpc.host import Host
from everloop.interfaces.rpc.method_table import METHODS
from everloop.interfaces.rpc.shutdown import Leaving, Left
from everloop.interfaces.rpc.streams import Interruptible, converse, own_output
from everloop.interfaces.rpc.unix_socket import SocketDoor
from everloop.log import Context
from everloop.settings import DoorSettings, load

SESSION = "rpc"  # prefix of a connection's session id
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class Door:
    """Serves one host on an open engine, over standard streams or a socket."""

    def __init__(self, engine: Engine, actor: str, limits: DoorSettings) -> None:
        self._engine = engine
        self._actor = actor
        self._limits = limits

    def conversation(self) -> Conversation[Host]:
        """A new connection with its own session id."""
        session = self._engine.log.ids.new(SESSION)
        host = Host(self._engine, Context(actor=self._actor, session=session))
        return Conversation(host, METHODS, self._limits, say)

    def on_streams(self, leaving: Leaving) -> None:
        """Serve one host on standard input and output."""
        questions = Interruptible(sys.stdin.buffer, leaving)
        say(f"ready as {self._actor}")
        with suppress(BrokenPipeError, Left), closing(own_output()) as answers:
            converse(self.conversation(), questions, answers, self._limits.line_bytes_max)

    def on_socket(self, path: Path, leaving: Leaving) -> None:
        """Serve many connections on a Unix socket."""
        door = SocketDoor(path, self._on_connection, self._limits.connections_max)
        door.listen(leaving, lambda: say(f"ready as {self._actor} at {path}"))

    def _on_connection(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as questions, connection.makefile("wb") as answers:
            converse(self.conversation(), questions, answers, self._limits.line_bytes_max)


def serve(asked: Namespace) -> int:
    """Serve with the command line's options, and return the exit code."""
    leaving = Leaving()
    leaving.listen()
    actor = host_of(asked.host)
    settings = load(home=asked.home)
    with Engine.open(settings=settings, tenant=asked.tenant) as engine:
        if admit(engine, actor, settings.doors):
            say(f"gave {actor} access to every scope; `everloop grants` shows it")
        door = Door(engine, actor, settings.doors)
        if asked.socket is None:
            door.on_streams(leaving)
        else:
            door.on_socket(Path(asked.socket).expanduser(), leaving)
    return 0


def say(line: str) -> None:
    """Write a line to standard error, with control characters of stored text replaced."""
    sys.stderr.write(_CONTROL.sub("?", f"everloop rpc: {line}\n"))
    sys.stderr.flush()
