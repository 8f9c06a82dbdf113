"""A real HTTP server on loopback in this process, with a scripted model and real clients."""

import json
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from socket import socket
from typing import Any

import httpx
import uvicorn

from everloop.access import pairing
from everloop.app import USER, Engine
from everloop.interfaces.http.app import build_application
from everloop.interfaces.http.security.connections import server_config
from everloop.interfaces.http.security.middleware import COOKIE_NAME, SecurityRules, instance_of
from everloop.interfaces.http.streaming.broadcast import Broadcast
from everloop.memory.settings import MemorySettings
from everloop.serve import mount_factories
from everloop.services import Services
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.model import Script, ScriptedModel

WAIT_S = 30.0


def plain_settings(folder: Path) -> Settings:
    """Settings with their own data home and no embedder."""
    return Settings(home=str(folder), memory=MemorySettings(embedder="none"))


class Server(uvicorn.Server):
    """A server that signals when it is ready, and closes event streams before shutdown."""

    def __init__(self, config: uvicorn.Config, broadcast: Broadcast) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._broadcast = broadcast

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Start, and signal that it is ready."""
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Close the streams and shut down."""
        self._broadcast.close()
        await super().shutdown(sockets)


class Served:
    """A running server, with what tests need to use it."""

    def __init__(
        self,
        running: Services,
        model: ScriptedModel,
        stage: DeterministicPorts,
        broadcast: Broadcast,
        port: int,
    ) -> None:
        self.running, self.model, self.stage, self.broadcast = running, model, stage, broadcast
        self.engine = running.engine
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    @property
    def cookie_name(self) -> str:
        """The name of its session cookie."""
        return f"{COOKIE_NAME}_{instance_of(self.engine.log.file.path)}"

    def headers(self, credential: pairing.Credential) -> dict[str, str]:
        """What a browser sends that has this credential."""
        return {
            "cookie": f"{self.cookie_name}={credential.cookie}",
            "x-everloop-key": credential.key,
        }

    def code(self, lives_s: int = 600) -> str:
        """A new pairing code."""
        engine = self.engine
        return pairing.make_pairing_code(engine.log, engine, engine.ports, USER, lives_s=lives_s)

    def credential(self, name: str = "a test") -> pairing.Credential:
        """The credential of a newly paired device."""
        engine = self.engine
        return pairing.pair_device(engine, engine.ports, name, way="code", via=self.code())

    @cached_property
    def _own_credential(self) -> pairing.Credential:
        return self.credential()

    @contextmanager
    def stranger(self) -> Generator[httpx.Client]:
        """A client without a credential."""
        with httpx.Client(base_url=self.url, timeout=WAIT_S, trust_env=False) as client:
            yield client

    @contextmanager
    def client(self, credential: pairing.Credential | None = None) -> Generator[httpx.Client]:
        """A signed-in client with a session cookie and its key, like a browser."""
        known = credential or self._own_credential
        with self.stranger() as client:
            client.cookies.set(self.cookie_name, known.cookie)
            client.headers["x-everloop-key"] = known.key
            yield client


class StreamEvent:
    """One server-sent event."""

    def __init__(self, lines: list[str]) -> None:
        parts = (line.partition(": ") for line in lines)
        fields: dict[str, str] = {name: value for name, _, value in parts}
        self.event = fields["event"]
        self.position = int(fields["id"]) if "id" in fields else None
        self.data: Any = json.loads(fields["data"])


def frames(response: httpx.Response) -> Iterator[StreamEvent]:
    """The events of a stream, without heartbeats, until it ends."""
    lines: list[str] = []
    for line in response.iter_lines():
        if line and not line.startswith(":"):
            lines.append(line)
        elif lines:
            yield StreamEvent(lines)
            lines = []


def wait_until_ended(client: httpx.Client, turn_id: str) -> None:
    """Wait until a turn has ended."""
    with client.stream("GET", "/api/stream", params={"after": 0}) as stream:
        for one in frames(stream):
            kind = one.data.get("kind", "") if one.event == "fact" else ""
            over = kind in ("thread.answer_given", "thread.turn_stopped", "thread.turn_failed")
            if over and one.data["data"]["turn_id"] == turn_id:
                return


def send_and_wait(client: httpx.Client, text: str, thread: str = "home") -> dict[str, Any]:
    """Send a message and wait for the answer."""
    sent: dict[str, Any] = client.post(
        f"/api/threads/{thread}/messages", json={"text": text}
    ).json()
    wait_until_ended(client, sent["turn_id"])
    return sent


@contextmanager
def served(
    folder: Path,
    answers: Iterable[Script] = (),
    *,
    settings: Settings | None = None,
    rules: SecurityRules | None = None,
) -> Generator[Served]:
    """Run a server whose only background service is the turn scheduler."""
    stage, model = DeterministicPorts(), ScriptedModel(answers)
    chosen = settings or plain_settings(folder)
    with Engine.open(folder, settings=chosen, ports=stage.ports) as engine:
        running = Services(engine, chosen, model)
        running.talk.home_thread(USER)
        beat_s = chosen.serve.beat_s
        broadcast = Broadcast(engine.log, running.turns.live, beat_s=beat_s)
        known = (rules or SecurityRules()).hosts
        made = (make(running, known) for make in mount_factories())
        inside = [one for one in made if one is not None]
        app = build_application(running, rules, broadcast, inside)
        running.turns.start()
        running.imports.start()
        config = server_config(
            app,
            chosen.serve,
            own_logs=chosen.observe.logs != "off",
            host="127.0.0.1",
            port=0,
            timeout_graceful_shutdown=5,
            timeout_keep_alive=600,  # a client that a loaded machine held up reuses its connection
        )
        server = Server(config, broadcast)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        try:
            assert server.ready.wait(WAIT_S)
            port = server.servers[0].sockets[0].getsockname()[1]
            yield Served(running, model, stage, broadcast, port)
        finally:
            server.should_exit = True
            thread.join()
            running.turns.stop()
            running.imports.stop()
