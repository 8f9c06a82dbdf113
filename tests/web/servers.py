"""A real server for browser tests: a running engine and its HTTP interface on loopback."""

import socket
import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict, Unpack

import uvicorn
from playwright.sync_api import Page

from everloop.access import pairing
from everloop.app import USER, Engine
from everloop.interfaces.http.app import build_application
from everloop.interfaces.http.static_files import find_build
from everloop.memory.settings import MemorySettings
from everloop.ports import Model
from everloop.services import Services
from everloop.settings import ServeSettings, Settings
from everloop.testing.model import Script, ScriptedModel
from everloop.thread.settings import ThreadSettings
from everloop.turns.tool_servers import ToolServerSettings
from everloop.voice import VoiceSettings
from everloop.workers import Runner
from everloop.worlds import WorldSettings

CODE_LIFETIME_S = 600


class SettingOverrides(TypedDict, total=False):
    """The sections of the settings that a test may give."""

    serve: ServeSettings
    thread: ThreadSettings
    tools: ToolServerSettings
    voice: VoiceSettings
    worlds: WorldSettings


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
        code = pairing.make_pairing_code(
            engine.log, engine, engine.ports, USER, lives_s=CODE_LIFETIME_S
        )
        return f"http://127.0.0.1:{port or self.port}/#pair={code}"


def key_headers(page: Page) -> dict[str, str]:
    """The page's half of its device's secret, for requests that the page does not send itself."""
    return {"x-everloop-key": str(page.evaluate("localStorage.getItem('everloop.key')"))}


@contextmanager
def start_server(
    home: Path,
    answers: Iterable[Script] = (),
    *,
    model: Model | None = None,
    port: int = 0,
    runners: Sequence[Runner] = (),
    **overrides: Unpack[SettingOverrides],
) -> Generator[Server]:
    """Start a server, optionally with other settings, and stop it at the end."""
    if find_build() is None:
        message = "the web pages are not find_build: run `make web`"
        raise RuntimeError(message)
    memory = MemorySettings(embedder="none")
    overrides.setdefault("thread", ThreadSettings(significance="rules"))  # the script only answers
    settings = Settings(home=str(home), memory=memory, **overrides)
    with (
        Engine.open(home, settings=settings) as engine,
        Services(engine, settings, model or ScriptedModel(answers), runners=runners) as running,
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
