"""One side of the HTTP measures, in a process of its own: our server, a bare one, or the watchers.

`ours FOLDER MESSAGES` prints its port and a credential, `bare` its port, and `watch PORT CREDENTIAL
CLIENTS EVENTS` what the watchers saw. A number on standard input makes our server write so many
ticks.
"""

import asyncio
import gc
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from socket import create_server
from statistics import quantiles
from time import perf_counter
from typing import Any, cast

import uvicorn
import uvloop
from fastapi import FastAPI
from pydantic import BaseModel

from bench import thread
from bench.http import TICKS_S
from everloop.access import pairing
from everloop.app import USER, Engine
from everloop.interfaces.http.app import build_application
from everloop.log import Event, event
from everloop.memory.settings import MemorySettings
from everloop.ports import Chunk, Delta, Finish, Params, Prompt, Usage
from everloop.services import Services
from everloop.settings import Settings

PAUSE_S = 1 / TICKS_S
WORDS = 5
NAME = "clocked"
TICK = re.compile(rb'"at":([0-9.]+)}')  # as a tick says when it was
TICK_BYTES_MAX = 64


@event("bench.ticked")
class Ticked(Event, frozen=True):
    """A moment, as this machine counts it."""

    at: float


class Stamped(BaseModel):
    """What a bare route gives: the same fields as a thread in a list."""

    thread_id: str
    title: str
    archived: bool
    opened_at: datetime
    newest_at: datetime


class ClockedModel:
    """A model that says what time it is, word by word."""

    name = NAME

    def generate(self, prompt: Prompt, params: Params) -> "ClockedStream":
        """The time at which it was called, then a few more."""
        del prompt, params
        return ClockedStream()


class ClockedStream:
    """An answer being given."""

    def __init__(self) -> None:
        self._chunks = self._given()

    def __iter__(self) -> Iterator[Chunk]:
        """The chunks."""
        return self._chunks

    def __next__(self) -> Chunk:
        """The next one."""
        return next(self._chunks)

    def close(self) -> None:
        """Nothing is held."""

    def _given(self) -> Iterator[Chunk]:
        for _ in range(WORDS):
            yield Delta(f"{perf_counter():.6f} ")
            threading.Event().wait(0.02)
        yield Usage(NAME, tokens_in=1, tokens_out=1)
        yield Finish("stop")


def ours(folder: str, messages: int) -> None:
    """Our server with so long a conversation, until standard input ends."""
    settings = Settings(home=folder, memory=MemorySettings(embedder="none"))
    with Engine.open(Path(folder), settings=settings) as engine:
        code = pairing.make_pairing_code(engine.log, engine, engine.ports, USER, lives_s=60)
        credential = pairing.pair_device(engine, engine.ports, "bench", way="code", via=code)
        running = Services(engine, settings, ClockedModel())
        running.talk.home_thread(USER)
        if messages:
            thread.fill(engine, running, messages)
        running.turns.start()
        _serve(build_application(running), credential.text, lambda count: _tick(engine, count))
        running.turns.stop()


def bare() -> None:
    """A FastAPI application with one route that gives what ours gives, and does nothing else."""
    app = FastAPI()
    now = datetime.now(UTC)  # noqa: TID251 - a constant of this process
    home = Stamped(thread_id="home", title="Home", archived=False, opened_at=now, newest_at=now)

    @app.get("/api/threads")
    def threads() -> list[Stamped]:
        return [home]

    _serve(app, "", lambda _: None)


def _serve(app: Any, credential: str, wish: Callable[[int], None]) -> None:
    listening = create_server(("127.0.0.1", 0), backlog=2_048)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    server = uvicorn.Server(config)

    def listen() -> None:
        for line in sys.stdin:
            wish(int(line))
        server.should_exit = True

    print(listening.getsockname()[1], credential, flush=True)
    threading.Thread(target=listen, daemon=True).start()
    server.run(sockets=[listening])


def _tick(engine: Engine, count: int) -> None:
    started = perf_counter()
    for number in range(count):
        engine.log.append("ticks", [Ticked(perf_counter())], actor="user")
        left = started + (number + 1) * PAUSE_S - perf_counter()
        threading.Event().wait(max(0.0, left))


class Watcher(asyncio.Protocol):
    """One client on the stream.

    It looks for the ticks and reads nothing else: what its reading takes, it takes from the same
    machine as the server.
    """

    def __init__(self, asked: bytes) -> None:
        self.late: list[float] = []  # how long each tick took, in milliseconds
        self._asked, self._rest, self._most = asked, b"", -1  # nothing is waited for yet
        loop = asyncio.get_running_loop()
        self._inside, self._over = loop.create_future(), loop.create_future()

    async def join(self, port: int) -> None:
        """Come in, and wait for the first word."""
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self, "127.0.0.1", port)
        await self._inside

    async def hear(self, ticks: int) -> None:
        """Wait for so many ticks, or for the end of the stream."""
        self._most = ticks
        await self._over

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        cast("asyncio.Transport", transport).write(self._asked)

    def data_received(self, data: bytes) -> None:
        """Note when ticks came."""
        now, text, read = perf_counter(), self._rest + data, 0
        for tick in TICK.finditer(text):
            self.late.append(1_000 * (now - float(tick[1])))
            read = tick.end()
        self._rest = text[read:][-TICK_BYTES_MAX:]
        if not self._inside.done() and b"event: hello" in text:
            self._inside.set_result(None)
        if len(self.late) == self._most and not self._over.done():
            self._over.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """The stream ended; what did not come is lost."""
        del exc
        for waiting in (self._inside, self._over):
            if not waiting.done():
                waiting.set_result(None)


async def watch(port: int, credential: str, clients: int, events: int) -> None:
    """Many clients on the stream: says when all are there, then how late events came."""
    asked = ("GET /api/stream HTTP/1.1", "Host: localhost", f"Authorization: Bearer {credential}")
    watchers = [Watcher("\r\n".join((*asked, "", "")).encode()) for _ in range(clients)]
    for one in watchers:
        await one.join(port)
    gc.freeze()
    print("ready", flush=True)
    await asyncio.gather(*(one.hear(events) for one in watchers))
    late = [delay for one in watchers for delay in one.late]
    lost = clients * events - len(late)
    print(json.dumps({"lost": lost, "p99_ms": quantiles(late, n=100)[98]}), flush=True)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "ours":
        ours(rest[0], int(rest[1]))
    elif what == "bare":
        bare()
    else:
        uvloop.run(watch(int(rest[0]), rest[1], int(rest[2]), int(rest[3])))
