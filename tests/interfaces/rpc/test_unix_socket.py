"""`everloop rpc --socket`: many hosts at once, real processes and real sockets."""

import os
import signal
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from select import select

import pytest
from tests.interfaces.rpc.clients import ENDS_WITHIN_S, connected, serving

from everloop.app import Engine
from everloop.errors import Conflict, Invalid
from everloop.interfaces.rpc.shutdown import ShutdownSignal
from everloop.interfaces.rpc.unix_socket import UnixSocketServer
from everloop.log.model.record import fact_of
from everloop.memory.model.events import Remembered

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def _serve(connection: socket.socket) -> None:
    raise AssertionError(f"it serves {connection} where it must not")


def _ready() -> None:
    raise AssertionError("it is ready where it must not be")


def _door(path: Path) -> UnixSocketServer:
    return UnixSocketServer(path, _serve, 4)


def test_two_hosts_on_one_socket_are_served_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with serving(tmp_path / "home", "--socket", str(path)) as door:
        door.wait_until_ready()
        with connected(path) as one, connected(path) as other:
            one.questions.write(PING[:10])  # one is in the middle of a line
            one.questions.flush()
            made = other.call("memory.create", description="a", content="seen by both")
            one.send(PING[10:-1])
            assert one.receive()["id"] == 1
            assert one.call("memory.get", id=made["id"])["content"] == "seen by both"


def test_many_concurrent_hosts_get_their_own_responses(tmp_path: Path) -> None:
    path = tmp_path / "s"
    made: dict[str, str] = {}

    def talk(name: int) -> None:
        with connected(path) as host:
            for number in range(10):
                text = f"host{name} wrote n{number} zeta{name * 31 + number}"
                made[text] = host.call("memory.create", description=text, content=text)["id"]

    with serving(tmp_path / "home", "--socket", str(path)) as door:
        door.wait_until_ready()
        hosts = [threading.Thread(target=talk, args=(name,)) for name in range(6)]
        for host in hosts:
            host.start()
        for host in hosts:
            host.join()
        with connected(path) as reader:
            assert len(made) == len(set(made.values())) == 60
            for text, name in made.items():
                assert reader.call("memory.get", id=name)["content"] == text


def test_each_connection_has_its_own_session(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with serving(tmp_path / "home", "--socket", str(path)) as door:
        door.wait_until_ready()
        for number in range(2):
            with connected(path) as host:
                text = f"osprey {number} in session alpha{number}"
                host.call("memory.create", description=text, content=text)
        door.process.send_signal(signal.SIGTERM)
        assert door.process.wait(ENDS_WITHIN_S) == 0
    with Engine.open(tmp_path / "home") as engine:
        said = [fact_of(record).event for record in engine.log.records()]
    sessions = [event.session for event in said if isinstance(event, Remembered)]
    assert len(set(sessions)) == 2
    assert all(session.startswith("rpc-") for session in sessions)


def test_the_socket_is_private_and_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with serving(tmp_path / "home", "--socket", str(path)) as door:
        door.wait_until_ready()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with connected(path) as host:
            host.call("ping")
            door.process.send_signal(signal.SIGTERM)
            assert host.answers.read() == b""
        assert door.process.wait(ENDS_WITHIN_S) == 0
    assert not path.exists()


def test_a_host_that_disconnects_midway_does_not_affect_others(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with serving(tmp_path / "home", "--socket", str(path)) as door:
        door.wait_until_ready()
        for _ in range(5):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as rude:
                rude.connect(str(path))
                rude.sendall(PING * 100 + PING[:7])
        with connected(path) as host:
            assert host.call("ping")["ok"]
        door.process.send_signal(signal.SIGTERM)
        assert door.process.wait(ENDS_WITHIN_S) == 0
        assert door.process.stderr
        assert b"Traceback" not in door.process.stderr.read()


def test_a_host_that_reads_no_responses_does_not_block_shutdown(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with serving(tmp_path / "home", "--socket", str(path)) as door:
        door.wait_until_ready()
        with connected(path) as host:
            text = "word " * 100_000
            name = host.call("memory.create", description="long", content=text)["id"]
            get = b'{"jsonrpc":"2.0","id":1,"method":"memory.get","params":{"id":"%s"}}\n'
            host.send(get % name.encode() * 20)
            assert host.receive()["id"] == 1  # the first of many, and no more
            door.process.send_signal(signal.SIGTERM)
            assert door.process.wait(ENDS_WITHIN_S) == 0


def test_a_connection_over_the_limit_waits_for_a_free_slot(tmp_path: Path) -> None:
    path = tmp_path / "s"
    one_place = {"EVERLOOP_DOORS_CONNECTIONS_MAX": "1"}
    with serving(tmp_path / "home", "--socket", str(path), **one_place) as door:
        door.wait_until_ready()
        with ExitStack() as stay:
            with connected(path) as first:
                first.call("ping")
                second = stay.enter_context(connected(path))
                second.send(PING)
                assert not select([second.answers], [], [], 0)[0]
                first.call("ping")
            assert second.receive()["id"] == 1


def test_a_stale_socket_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with serving(tmp_path / "home", "--socket", str(path)) as door:
        door.wait_until_ready()
        door.process.kill()
        door.process.wait(ENDS_WITHIN_S)
    assert path.is_socket()
    with serving(tmp_path / "home", "--socket", str(path)) as door:
        door.wait_until_ready()
        with connected(path) as host:
            assert host.call("ping")["ok"]


def test_a_socket_in_use_is_left_alone(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(tmp_path / "s"))
        other.listen()
        with pytest.raises(Conflict, match="another process already serves"):
            _door(tmp_path / "s").listen(ShutdownSignal(), _ready)
    assert (tmp_path / "s").is_socket()


@pytest.mark.parametrize("what", ["file", "folder", "link", "fifo"])
def test_another_file_at_the_path_is_refused_and_kept(tmp_path: Path, what: str) -> None:
    path = tmp_path / "s"
    make: dict[str, Callable[[], object]] = {
        "file": lambda: path.write_text("precious"),
        "folder": path.mkdir,
        "link": lambda: path.symlink_to(tmp_path / "elsewhere"),
        "fifo": lambda: os.mkfifo(path),
    }
    make[what]()
    before = path.lstat()
    with pytest.raises(Invalid, match="is not a socket"):
        _door(path).listen(ShutdownSignal(), _ready)
    assert path.lstat().st_ino == before.st_ino


@pytest.mark.parametrize("path", ["x" * 200, "missing/s"])
def test_a_path_where_no_socket_can_be_created_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(Invalid, match="cannot create a socket"):
        _door(tmp_path / path).listen(ShutdownSignal(), _ready)
