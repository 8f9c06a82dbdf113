"""A plain reverse proxy: hands each connection to the next node that accepts one."""

import asyncio
import itertools
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress

CHUNK = 65_536
Ports = Callable[[], Sequence[int]]


class RoundRobinProxy:
    """Forwards bytes; knows nothing of HTTP, keeps nothing, and asks again for each connection."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._turn = itertools.count()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self.port = 0
        self._thread.start()
        self._ready.wait()

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Cut every connection."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # a closed transport lets go of its socket on the next round

    async def _accept(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            far, to_node = await self._connect()
            try:
                await asyncio.gather(_forward(near, to_node), _forward(far, back))
            finally:
                to_node.close()
        back.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the next node that accepts one; one that is down is passed over."""
        ports = list(self._ports())
        first = next(self._turn)
        for step in range(len(ports)):
            with suppress(OSError):
                port = ports[(first + step) % len(ports)]
                return await asyncio.open_connection("127.0.0.1", port)
        raise ConnectionRefusedError("no node accepts connections")


async def _forward(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(CHUNK):
            target.write(data)
            await target.drain()
    finally:
        target.close()


@contextmanager
def proxy_to_nodes(ports: Ports) -> Generator[RoundRobinProxy]:
    """Run a proxy, and close it at the end."""
    proxy = RoundRobinProxy(ports)
    try:
        yield proxy
    finally:
        proxy.close()
