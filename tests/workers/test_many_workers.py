"""Two hundred commands at once: the inbox still answers, output is capped, its order is kept."""

import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from tests.interfaces.http.process import server_process, signed_in
from tests.workers.rig import survivors

COUNT, LOUD_EVERY = 200, 10
WAIT_S = 1_800.0
P99_MS = 500
KEPT_BYTES = 262_144  # the default of `workers.limits.output_bytes_max`
ENVIRONMENT = {
    "EVERLOOP_MODELS_NARRATIVE": "offline",
    "EVERLOOP_MODELS_CLASSIFIER": "offline",
    "EVERLOOP_MEMORY_EMBEDDER": "none",
    "EVERLOOP_WORKERS_PARALLEL_MAX": str(COUNT),
}
QUIET = """
i=0; say() {{ echo "line $i"; i=$((i+1)); }}
burst() {{ n=0; while [ $n -lt 100 ]; do say; n=$((n+1)); done; }}
burst; while [ ! -e {go} ]; do say; sleep 1; done; burst
"""
LOUD = "echo first; seq 1 300000; while [ ! -e {go} ]; do sleep 1; done; echo last"


class InboxClient(threading.Thread):
    """Opens the inbox again and again, and notes how long each answer took."""

    def __init__(self, url: str, headers: httpx.Headers) -> None:
        super().__init__(daemon=True)
        self._url, self._headers = url, headers
        self._over = threading.Event()
        self.took_ms: list[float] = []

    def run(self) -> None:
        """Ask until it is told to end."""
        with httpx.Client(base_url=self._url, headers=self._headers, trust_env=False) as client:
            while not self._over.wait(0.1):
                began = time.perf_counter()
                client.get("/api/inbox", timeout=60).raise_for_status()
                self.took_ms.append((time.perf_counter() - began) * 1000)

    def end(self) -> list[float]:
        """How long the answers took in milliseconds, the shortest first."""
        self._over.set()
        self.join()
        return sorted(self.took_ms)


def start(client: httpx.Client, index: int, go: Path) -> str:
    """Start one command; every tenth prints more than is kept."""
    script = (QUIET if index % LOUD_EVERY else LOUD).format(go=go)
    body = {
        "title": f"Command {index}",
        "runner": "command",
        "command": ["sh", "-c", script],
        "sandbox": "off",
    }
    return str(client.post("/api/tasks", json=body).raise_for_status().json()["task_id"])


def states(client: httpx.Client) -> list[str]:
    """The states of all tasks."""
    board = client.get("/api/tasks", params={"ended": 500}).raise_for_status().json()
    return [one["state"] for column in board.values() for one in column]


def wait_until_all_are(client: httpx.Client, state: str) -> None:
    """Wait until every task is in a state."""
    deadline = time.monotonic() + WAIT_S
    while (seen := states(client)) != [state] * COUNT:
        assert time.monotonic() < deadline, {one: seen.count(one) for one in set(seen)}
        time.sleep(1)


def shown(client: httpx.Client, name: str) -> str:
    """All that a task showed."""
    text, after = "", 0
    while True:
        path, where = f"/api/tasks/{name}/transcript", {"after": after}
        parts = client.get(path, params=where).raise_for_status().json()["parts"]
        if not parts:
            return text
        text += "".join(entry["text"] for part in parts for entry in part["entries"])
        after = parts[-1]["position"]


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_two_hundred_commands_at_once_leave_the_inbox_usable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, go = tmp_path / "home", tmp_path / "go"
    with (
        server_process(home, ENVIRONMENT) as server,
        signed_in(server, dict[str, str]()) as client,
    ):
        inbox = InboxClient(server.url, client.headers)
        inbox.start()
        began = time.monotonic()
        names = [start(client, index, go) for index in range(COUNT)]
        wait_until_all_are(client, "running")
        running_s = time.monotonic() - began
        go.touch()
        wait_until_all_are(client, "done")
        took_ms = inbox.end()
        for index, name in enumerate(names):
            check_output(shown(client, name), loud=index % LOUD_EVERY == 0)
    assert survivors(home) == []
    p50, p99 = (took_ms[int(len(took_ms) * share)] for share in (0.5, 0.99))
    figures = (
        f"inbox: {len(took_ms)} answers, p50 {p50:.0f} ms, p99 {p99:.0f} ms,"
        f" longest {took_ms[-1]:.0f} ms; all {COUNT} ran after {running_s:.0f} s"
    )
    with capsys.disabled():
        sys.stdout.write(f"\n{figures}\n")
    assert p99 <= P99_MS, figures


def check_output(text: str, *, loud: bool) -> None:
    """Every line once and in order; of too much, the beginning and the end."""
    lines = text.splitlines()
    if loud:
        assert len(text.encode()) < KEPT_BYTES + 1_000
        assert (lines[0], lines[-1]) == ("first", "last")
    else:
        assert lines == [f"line {number}" for number in range(len(lines))]
        assert len(lines) >= 200
