"""`everloop serve` as a separate process on loopback."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx

WAIT_S = 60.0
PROGRAM = (sys.executable, "-m", "everloop")


class ServerProcess:
    """A running `everloop serve` process, started at a terminal unless `alone`."""

    def __init__(
        self,
        home: Path,
        environment: dict[str, str],
        *words: str,
        alone: bool = False,
        program: tuple[str, ...] = PROGRAM,
    ) -> None:
        self._typing, terminal = pty.openpty()
        self._process = subprocess.Popen(  # noqa: S603 - our own programme, fixed options
            [*program, "--home", str(home), "serve", "--port", "0", *words],
            env={**os.environ, **environment},  # noqa: TID251 - handed on, not read
            stdin=subprocess.DEVNULL if alone else terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(terminal)
        self.said: list[str] = []
        self.url, self.code = self._read_link(alone=alone)

    def _read_link(self, *, alone: bool) -> tuple[str, str]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said.append(line)
            address, found, code = line.strip().partition("/#pair=")
            if found:
                return address, code
            if alone and len(self.said) > 1:
                return self.said[0].removeprefix("Everloop is at ").strip(), ""
        raise AssertionError("".join(self.said) + self._process.communicate()[1])

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self._process.kill()
        self._process.communicate()

    def ask_to_end(self) -> tuple[int, str]:
        """End it with SIGTERM; returns the exit code and standard error."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        with self._process:
            self._process.send_signal(signal.SIGTERM)
            self.said.append(self._process.stdout.read())  # also what was read ahead of the link
            complaints = self._process.stderr.read()
        return self._process.returncode, complaints

    def close(self) -> None:
        """Kill it if it still runs; a second time does nothing."""
        if self._process.poll() is None:
            self.kill()
        if self._typing >= 0:
            os.close(self._typing)
        self._typing = -1


@contextmanager
def server_process(
    home: Path,
    environment: dict[str, str],
    *words: str,
    alone: bool = False,
    program: tuple[str, ...] = PROGRAM,
) -> Generator[ServerProcess]:
    """Run a server process and kill it afterwards."""
    server = ServerProcess(home, environment, *words, alone=alone, program=program)
    try:
        yield server
    finally:
        server.close()


def with_model(url: str) -> dict[str, str]:
    """Settings that use this model service, without retries and without an embedder."""
    return {
        "EVERLOOP_MODELS_NARRATIVE": "endpoint:test",
        "EVERLOOP_MODELS_CLASSIFIER": "offline",
        "EVERLOOP_MODELS_ENDPOINT_URL": f"{url}/v1",
        "EVERLOOP_MODELS_TRIES": "1",
        "EVERLOOP_MEMORY_EMBEDDER": "none",
    }


@contextmanager
def signed_in(server: ServerProcess, kept: dict[str, str]) -> Generator[httpx.Client]:
    """A client signed in with the printed link, whose cookie and key are kept."""
    with httpx.Client(base_url=server.url, timeout=WAIT_S, trust_env=False) as client:
        if not kept:
            answer = client.post("/api/session", json={"code": server.code}).raise_for_status()
            (name, value), key = next(iter(client.cookies.items())), answer.json()["key"]
            kept |= {"cookie": f"{name}={value}", "x-everloop-key": key}
        client.cookies.clear()
        client.headers.update(kept)
        yield client
