"""The network of a sandbox: an agent reaches its model service, and nothing else."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.workers.isolation.test_sandbox import needs_bubblewrap
from tests.workers.test_claude import agents, hire

from everloop.adapters.runners import sandbox
from everloop.adapters.runners.egress_proxy import is_allowed
from everloop.workers import Grants, Task, TaskSpec, network_reach

TRY = """
import http.client, json, os, socket, sys, urllib.request
allowed, forbidden = sys.argv[1:]
said = {}
def note(name, what):
    try:
        said[name] = what()
    except Exception as problem:
        said[name] = type(problem).__name__ + ": " + str(problem)
def connect(port):
    proxy = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
    tunnel = http.client.HTTPConnection(proxy[0], int(proxy[1]), timeout=5)
    tunnel.set_tunnel("127.0.0.1", int(port))
    tunnel.request("GET", "/x")
    return tunnel.getresponse().read().decode()
def get(port):
    return urllib.request.urlopen("http://127.0.0.1:" + port + "/x", timeout=5).read().decode()
note("plain", lambda: get(allowed))
note("tunnel", lambda: connect(allowed))
note("plain elsewhere", lambda: get(forbidden))
note("tunnel elsewhere", lambda: connect(forbidden))
note("direct", lambda: str(socket.create_connection(("127.0.0.1", int(forbidden)), 2)))
note("name", lambda: str(socket.getaddrinfo("example.org", 443)))
print(json.dumps(said))
"""


class Hello(BaseHTTPRequestHandler):
    """Says hello to everybody."""

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"hello {self.path}".encode())


@contextmanager
def web_server() -> Generator[int]:
    """A server on the loopback; gives its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def task(grants: Grants) -> Task:
    """A task of an agent."""
    return Task("t1", TaskSpec("Do it", "Do it.", "claude", grants=grants), 1)


def reach(tmp_path: Path, hosts: tuple[str, ...], *ports: int) -> dict[str, str]:
    """What a process in the sandbox can reach."""
    needs = sandbox.SandboxNeeds((tmp_path,), (Path(sys.prefix),), hosts, tmp_path / "proxy")
    words = (sys.executable, "-c", TRY, *map(str, ports))
    argv = sandbox.in_sandbox(task(Grants(sandbox="required")), words, needs)
    ran = subprocess.run(  # noqa: S603 - our own command
        argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, str] = json.loads(ran.stdout)
    return found


@needs_bubblewrap
@pytest.mark.promise("P-WORK-12")
def test_an_agent_in_the_sandbox_reaches_its_model_service_and_nothing_else(
    tmp_path: Path,
) -> None:
    with web_server() as allowed, web_server() as forbidden:
        found = reach(tmp_path, (f"127.0.0.1:{allowed}",), allowed, forbidden)
    assert found["plain"] == "hello /x"
    assert found["tunnel"] == "hello /x"
    assert "403" in found["plain elsewhere"]
    assert "403" in found["tunnel elsewhere"]
    assert "refused" in found["direct"]
    assert "gaierror" in found["name"]


@needs_bubblewrap
def test_the_exit_code_and_a_signal_come_through_the_proxy(tmp_path: Path) -> None:
    needs = sandbox.SandboxNeeds((tmp_path,), (Path(sys.prefix),), ("a.example",), tmp_path / "g")
    argv = sandbox.in_sandbox(task(Grants()), ("sh", "-c", "exit 7"), needs)
    ran = subprocess.run(argv, cwd=tmp_path, timeout=60, check=False)  # noqa: S603
    assert ran.returncode == 7


@needs_bubblewrap
def test_claude_code_works_in_the_sandbox_with_its_model_service_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        peek = f"curl -s -m 5 -o /dev/null -w '%{{http_code}}' http://127.0.0.1:{port}/ || echo no"
        call = ("Bash", {"command": peek, "description": "Look outside"})
        with agents(tmp_path, monkeypatch, [call], ["All done."]) as (work, api):
            grants = Grants(sandbox="required", skip_permissions=True)
            name = hire(work, grants=grants)
            done = work.until(name, "done", "failed", "uncertain", "waiting")
            assert (done.state, done.claim) == ("done", "All done."), done.reason
            assert "hello" not in api.heard()
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()  # nobody came


def test_what_a_task_reaches_is_said_as_it_is() -> None:
    command, agent = TaskSpec("Look", command=("ls",)), TaskSpec("Do it", "Do it.", "claude")
    assert network_reach(command, sandboxed=True) == "none"
    assert network_reach(agent, sandboxed=True) == "model"
    assert network_reach(command, sandboxed=False) == "all"
    assert network_reach(task(Grants(network=True)).spec, sandboxed=True) == "all"
    assert network_reach(task(Grants(sandbox="off")).spec, sandboxed=True) == "all"


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("api.example.org", 443, True),
        ("API.example.org.", 443, True),
        ("api.example.org", 80, False),
        ("evil-api.example.org", 443, False),
        ("api.example.org.evil.net", 443, False),
        ("127.0.0.1", 8080, True),
        ("127.0.0.1", 443, False),
        ("eu.models.net", 443, True),
        ("models.net", 443, False),
        ("", 443, False),
    ],
)
def test_only_the_named_hosts_are_allowed(host: str, port: int, expected: bool) -> None:
    allowed = ["api.example.org", "127.0.0.1:8080", "*.models.net"]
    assert is_allowed(host, port, allowed) is expected


def test_the_host_of_a_configured_address_is_allowed() -> None:
    found = sandbox.hosts_of(
        {"BASE": "https://models.lan/v1", "LOCAL": "http://127.0.0.1:11434", "KEY": "sk-x"}
    )
    assert found == ("models.lan:443", "127.0.0.1:11434")
