"""A real server for browser tests: a running engine and its HTTP interface on loopback."""

import socket
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from everloop.access import credentials
from everloop.app import USER, Engine
from everloop.interfaces.http.app import build_application
from everloop.interfaces.http.static_files import find_build
from everloop.memory.settings import MemorySettings
from everloop.ports import Model
from everloop.services import Services
from everloop.settings import Settings
from everloop.testing.model import Script, ScriptedModel

CODE_LIFETIME_S = 600


class Server:
    """A running server: its address, pairing links, and the engine behind it."""

    def __init__(self, engine: Engine, running: Services, port: int) -> None:
        self.engine = engine
        self.running = running
        self.port = port

    @property
    def address(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}"

    def link(self, port: int | None = None) -> str:
        """A pairing link for one device, perhaps through the port of a proxy."""
        engine = self.engine
        code = credentials.make_pairing_code(
            engine.log, engine, engine.world, USER, lives_s=CODE_LIFETIME_S
        )
        return f"http://127.0.0.1:{port or self.port}/#pair={code}"


@contextmanager
def start_server(
    home: Path,
    answers: Iterable[Script] = (),
    *,
    model: Model | None = None,
    port: int = 0,
    **setting_overrides: Any,
) -> Generator[Server]:
    """Start a server, optionally with other settings, and stop it at the end."""
    if find_build() is None:
        message = "the web pages are not find_build: run `make web`"
        raise RuntimeError(message)
    memory = MemorySettings(embedder="none")
    settings = Settings(home=str(home), memory=memory, **setting_overrides)
    with (
        Engine.open(home, settings=settings) as engine,
        Services(engine, settings, model or ScriptedModel(answers)) as running,
        _listen(running, port) as bound_port,
    ):
        yield Server(engine, running, bound_port)


@contextmanager
def _listen(running: Services, port: int) -> Generator[int]:
    config = uvicorn.Config(
        build_application(running), log_level="warning", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", port))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
