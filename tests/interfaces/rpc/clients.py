"""JSON-RPC test clients: one for a real process, and one inside this process."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from everloop.app import Engine
from everloop.host_admission import admit_host
from everloop.interfaces.rpc.connection import RpcConnection
from everloop.interfaces.rpc.host import RpcHost
from everloop.interfaces.rpc.method_table import METHODS
from everloop.lessons.model.commands import ProposeLesson
from everloop.lessons.model.events import MemoryEvidence
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts

WORDS_ONLY = {"EVERLOOP_MEMORY_EMBEDDER": "none"}
ENDS_WITHIN_S = 20


class Refused(Exception):
    """A JSON-RPC error response."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data: dict[str, Any] = error.get("data", {})


class Wire:
    """A client on two byte streams."""

    def __init__(self, questions: BinaryIO, answers: BinaryIO) -> None:
        self.questions = questions
        self.answers = answers
        self._ids = count(1)

    def send(self, line: bytes) -> None:
        """Send a line of any bytes."""
        self.questions.write(line + b"\n")
        self.questions.flush()

    def receive(self) -> Any:
        """Receive a response."""
        line = self.answers.readline()
        assert line.endswith(b"\n"), f"the door closed in the middle of {line!r}"
        return json.loads(line)

    def call(self, method: str, **params: Any) -> Any:
        """Ask, and give the result or raise the error."""
        asked = next(self._ids)
        request = {"jsonrpc": "2.0", "id": asked, "method": method, "params": params}
        self.send(json.dumps(request).encode())
        answer = self.receive()
        assert answer["id"] == asked
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]


class Process(Wire):
    """A client of an `everloop rpc` process."""

    def __init__(self, home: Path | None, *words: str, **settings: str) -> None:
        where = [] if home is None else ["--home", str(home)]
        command = [sys.executable, "-m", "everloop", *where, "rpc", *words]
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **WORDS_ONLY, **settings},  # noqa: TID251 - of a child
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        super().__init__(self.process.stdin, self.process.stdout)  # type: ignore[arg-type]
        self.said: list[str] = []

    def wait_until_ready(self) -> None:
        """Wait until it prints that it is ready."""
        assert self.process.stderr
        while not any("ready as" in line for line in self.said):
            line = self.process.stderr.readline()
            assert line, f"it ended: {self.said}"
            self.said.append(line.decode())

    def end(self) -> tuple[int, bytes, str]:
        """Close its input; returns the exit code and its remaining output."""
        out, err = self.process.communicate(timeout=ENDS_WITHIN_S)
        return self.process.returncode, out, "".join(self.said) + err.decode()


@contextmanager
def serving(home: Path | None, *words: str, **settings: str) -> Generator[Process]:
    """Run a process and kill it afterwards."""
    client = Process(home, *words, **settings)
    try:
        yield client
    finally:
        if client.process.poll() is None:
            client.process.kill()
        for stream in (client.process.stdin, client.process.stdout, client.process.stderr):
            assert stream
            with suppress(BrokenPipeError):
                stream.close()
        client.process.wait(ENDS_WITHIN_S)


@contextmanager
def connected(path: Path) -> Generator[Wire]:
    """A client of a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(path))
        with connection.makefile("wb") as questions, connection.makefile("rb") as answers:
            yield Wire(questions, answers)


class Indoors:
    """A JSON-RPC connection to a deterministic engine, without a process or socket."""

    def __init__(self, folder: Path) -> None:
        self.stage = DeterministicPorts()
        self.settings = Settings(home=str(folder), memory=MemorySettings(embedder="none"))
        self.engine = Engine.open(settings=self.settings, ports=self.stage.ports)
        self.said: list[str] = []
        self._ids = count(1)

    def host(self, name: str = "rpc", session: str = "rpc-1") -> RpcHost:
        """A host with access to every scope."""
        actor = f"agent:{name}"
        admit_host(self.engine, actor, self.settings.doors)
        return RpcHost(self.engine, Context(actor=actor, session=session))

    def talk(self, name: str = "rpc", session: str = "rpc-1") -> RpcConnection[RpcHost]:
        """A new connection."""
        return RpcConnection(
            self.host(name, session), METHODS, self.settings.doors, self.said.append
        )

    def remember(self, item_id: str, text: str) -> None:
        """Store an item with this id."""
        self.engine.do(RememberItem(item_id, text), by=self.host().by)

    def propose(self, lesson_id: str, rule: str, cites: str) -> None:
        """Propose a lesson with this id."""
        new = ProposeLesson(lesson_id, rule, rule, evidence=(MemoryEvidence(cites),))
        self.engine.lessons.propose(new, by=self.host().by)

    def call(self, method: str, name: str = "rpc", **params: Any) -> Any:
        """Ask, and give the result or raise the error."""
        request = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        answered = self.talk(name).respond(json.dumps(request).encode())
        assert answered
        answer = json.loads(answered)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]


@contextmanager
def indoors(folder: Path) -> Generator[Indoors]:
    """An engine that is closed afterwards."""
    inside = Indoors(folder)
    with inside.engine:
        yield inside
