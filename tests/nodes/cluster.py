"""Several nodes on one PostgreSQL: real `everloop serve` processes, each with a home of its own."""

import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
from tests.interfaces.http.process import ServerProcess

WAIT_S = 90.0
OFFLINE = {
    "EVERLOOP_MODELS_NARRATIVE": "offline",
    "EVERLOOP_MODELS_CLASSIFIER": "offline",
    "EVERLOOP_MEMORY_EMBEDDER": "none",
}


class Node:
    """One node: its home stays when its process is killed and started again."""

    def __init__(self, home: Path, environment: dict[str, str], words: tuple[str, ...]) -> None:
        self.home = home
        self._environment, self._words = environment, words
        self.process = self._start()

    @property
    def url(self) -> str:
        """Its address, another one after each start."""
        return self.process.url

    @property
    def port(self) -> int:
        """The port of its address."""
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.process.close()

    def end(self) -> tuple[int, str]:
        """End it with SIGTERM; returns the exit code and what it complained about."""
        return self.process.ask_to_end()

    def start_again(self) -> None:
        """Start it again in the same home."""
        self.process = self._start()

    def tasks(self) -> set[str]:
        """The tasks that ran here."""
        return {one.name for one in self.home.glob("nodes/*.workers/tasks/*")}

    def _start(self) -> ServerProcess:
        return ServerProcess(self.home, self._environment, *self._words)


class Cluster:
    """Nodes of one log, and a device that is signed in."""

    def __init__(self, url: str, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = {**OFFLINE, "EVERLOOP_STORE": url, **environment}
        self._credential: dict[str, str] = {}
        self.nodes: list[Node] = []

    def start(self, *words: str) -> Node:
        """One more node."""
        home = self._folder / f"node-{len(self.nodes) + 1}"
        node = Node(home, self._environment, words)
        self.nodes.append(node)
        return node

    @contextmanager
    def client(self, url: str) -> Generator[httpx.Client]:
        """A client with the one credential, at a node or a proxy."""
        with httpx.Client(base_url=url, timeout=WAIT_S, trust_env=False) as client:
            client.headers.update(self._credential or self._sign_in())
            yield client

    def close(self) -> None:
        """Kill what still runs."""
        for node in self.nodes:
            node.process.close()

    def _sign_in(self) -> dict[str, str]:
        node = self.nodes[0]
        with httpx.Client(base_url=node.url, timeout=WAIT_S, trust_env=False) as client:
            signed = client.post("/api/session", json={"code": node.process.code})
            key = signed.raise_for_status().json()["key"]
            ((name, value),) = client.cookies.items()
        self._credential = {"cookie": f"{name}={value}", "x-everloop-key": key}
        return self._credential


@contextmanager
def cluster(url: str, folder: Path, **environment: str) -> Generator[Cluster]:
    """A cluster without nodes yet; whatever was started is killed at the end."""
    with ExitStack() as stack:
        one = Cluster(url, folder, environment)
        stack.callback(one.close)
        yield one


def until(look: Callable[[], Any], holds: Callable[[Any], bool] = bool) -> Any:
    """Look again and again until something holds; returns what was seen then."""
    deadline = time.monotonic() + WAIT_S
    while not holds(seen := look()):
        assert time.monotonic() < deadline, f"it never came to hold: {seen}"
        time.sleep(0.05)
    return seen
