"""The server as a process: startup, graceful shutdown, and crash safety."""

import threading
from argparse import Namespace
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
import segno
from tests.adapters.models.fake_services import Asked, FakeService, Reply, fake_service
from tests.interfaces.http.process import ServerProcess, server_process, signed_in, with_model
from tests.interfaces.http.serving import frames

from everloop.access.pairing import load_access
from everloop.app import Engine
from everloop.errors import Forbidden, Invalid, Unavailable
from everloop.interfaces.http.entry import serve
from everloop.interfaces.http.server import apply_options, browser_url, security_rules
from everloop.settings import ServeSettings
from everloop.testing.seeded_random import SeededRandom

ENDED = {"done", "stopped", "failed", "uncertain"}
LONG = Reply(pieces=tuple(f"word{number} " for number in range(300)))
LATEST_S = 0.5  # a kill comes at most so long after a message was sent


@pytest.mark.promise("P-HTTP-7")
def test_shutdown_closes_streams_and_saves_the_partial_answer(tmp_path: Path) -> None:
    stalls = Reply(pieces=("Half an ", "answer"), then="stall")
    with (
        fake_service(stalls) as model,
        server_process(tmp_path, with_model(model.url)) as server,
        signed_in(server, dict[str, str]()) as client,
    ):
        with client.stream("GET", "/api/stream") as stream:
            client.post("/api/threads/home/messages", json={"text": "Hello?"})
            said = ""
            for heard in frames(stream):
                said += heard.data["text"] if heard.event == "words" else ""
                if said == "Half an answer":
                    break
            code, complaints = server.ask_to_end()
        assert (code, complaints) == (0, "")
        with (
            server_process(tmp_path, with_model(model.url)) as again,
            signed_in(again, dict[str, str]()) as later,
        ):
            page = later.get("/api/threads/home/messages").json()
    assert [(one["text"], one["state"]) for one in page["messages"]] == [
        ("Hello?", "sent"),
        ("Half an answer", "stopped"),
    ]


@pytest.mark.promise("P-HTTP-8")
@pytest.mark.timeout(900)
def test_a_kill_at_any_moment_loses_and_duplicates_no_message(
    tmp_path: Path, soaking: bool
) -> None:
    rounds = 30 if soaking else 4
    chance, cookies, taken = SeededRandom(7), dict[str, str](), list[str]()
    with fake_service(LONG) as model:
        for number in range(rounds):
            with (
                server_process(tmp_path, with_model(model.url)) as server,
                signed_in(server, cookies) as client,
            ):
                name = f"canary-{number}"
                if _killed_after_sending(server, client, name, chance.random() * LATEST_S):
                    taken.append(name)
        with (
            server_process(tmp_path, with_model(model.url)) as server,
            signed_in(server, cookies) as client,
        ):
            _until_all_ended(client)
            phases = {name: _phase(client, name) for name in _names(rounds)}
            for name in _names(rounds):  # a client that got no answer sends it again
                _send(client, name)
            _until_all_ended(client)
            said = client.get("/api/threads/home/messages?limit=500").json()["messages"]
    assert [phases[name] for name in taken if phases[name] not in ENDED] == []
    asked = Counter(one["text"] for one in said if one["role"] == "user")
    assert asked == dict.fromkeys(_names(rounds), 1)
    assert _calls(model, rounds).most_common(1)[0][1] == 1


def _names(rounds: int) -> list[str]:
    return [f"canary-{number}" for number in range(rounds)]


def _send(client: httpx.Client, name: str) -> bool:
    try:
        answer = client.post("/api/threads/home/messages", json={"text": name, "letter_id": name})
    except httpx.TransportError:
        return False
    return answer.status_code == 201


def _killed_after_sending(
    server: ServerProcess, client: httpx.Client, name: str, delay_s: float
) -> bool:
    """Whether the message was acknowledged before the end."""
    taken = list[bool]()
    sending = threading.Thread(target=lambda: taken.append(_send(client, name)))
    sending.start()
    threading.Event().wait(delay_s)
    server.kill()
    sending.join()
    return taken[0]


def _until_all_ended(client: httpx.Client) -> None:
    with client.stream("GET", "/api/stream") as stream:
        if not client.get("/api/threads/home/turns").json():
            return
        for heard in frames(stream):
            if heard.event == "fact" and not client.get("/api/threads/home/turns").json():
                return


def _phase(client: httpx.Client, name: str) -> str:
    answer = client.get(f"/api/turns/trn-{name}")
    return str(answer.json()["phase"]) if answer.status_code == 200 else ""


def _calls(model: FakeService, rounds: int) -> Counter[str]:
    """How often each message was sent to the model."""
    questions = [_question(asked) for asked in model.asked]
    return Counter(name for name in _names(rounds) for said in questions if said.endswith(name))


def _question(asked: Asked) -> str:
    last: Any = asked.body["messages"][-1]["content"]
    return last if isinstance(last, str) else str(last[-1]["text"])


def test_startup_prints_the_address_and_a_pairing_link_and_nothing_else(tmp_path: Path) -> None:
    with fake_service() as model, server_process(tmp_path, with_model(model.url)) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert server.said[0] == f"Everloop is at {server.url}\n"
        assert len(server.said) == 3
        with httpx.Client(base_url=server.url, trust_env=False) as client:
            assert client.get("/api/health").json()["ok"] is True
            assert "server" not in client.get("/api/health").headers


@pytest.mark.promise("P-TRUST-3")
def test_without_a_terminal_no_link_is_printed_and_no_code_is_made(tmp_path: Path) -> None:
    with (
        fake_service() as model,
        server_process(tmp_path, with_model(model.url), alone=True) as server,
    ):
        assert server.said == [
            f"Everloop is at {server.url}\n",
            "To sign in, run `everloop pair` at a terminal.\n",
        ]
        assert server.ask_to_end()[0] == 0
    with Engine.open(tmp_path) as engine:
        assert load_access(engine.log).codes == {}


def test_a_server_reachable_by_phones_prints_a_qr_code(tmp_path: Path) -> None:
    named = {"EVERLOOP_SERVE_SECURE": "true", "EVERLOOP_SERVE_HOSTS": "loop.example"}
    with (
        fake_service() as model,
        server_process(tmp_path, with_model(model.url) | named) as server,
    ):
        assert server.ask_to_end()[0] == 0
    drawn = StringIO()
    segno.make(f"https://loop.example/#pair={server.code}").terminal(drawn, compact=True)
    assert server.said[-1] == drawn.getvalue()


def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    with fake_service() as model:
        asked = Namespace(
            home=str(tmp_path), tenant="local", address=None, lan=False, port=_port(model.url)
        )
        with pytest.raises(Unavailable, match=r"^port \d+ is already in use$"):
            serve(asked)


def test_a_port_that_does_not_exist_is_reported() -> None:
    with pytest.raises(Invalid, match=r"^99999 is not a port$") as refused:
        apply_options(ServeSettings(), Namespace(address=None, port=99_999, lan=False))
    assert "0 takes any free port" in refused.value.hint
    with pytest.raises(Invalid, match=r"^-1 is not a port$"):
        apply_options(ServeSettings(port=-1), Namespace(address=None, port=None, lan=False))


def test_it_listens_on_the_network_only_if_the_command_line_says_so() -> None:
    wide = ServeSettings(host="0.0.0.0")  # noqa: S104 - what is to be refused
    with pytest.raises(Forbidden, match="open the server to the network"):
        apply_options(wide, Namespace(address=None, port=None, lan=False))
    assert apply_options(wide, Namespace(address="0.0.0.0", port=1, lan=False)).port == 1  # noqa: S104
    lan = apply_options(ServeSettings(), Namespace(address=None, port=None, lan=True))
    assert lan.host == "0.0.0.0"  # noqa: S104 - asked for
    assert not browser_url(lan).startswith("http://0.0.0.0")
    assert browser_url(lan).removeprefix("http://").rpartition(":")[0] in security_rules(lan).hosts


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "http://127.0.0.1:7777"), ("::1", "http://[::1]:7777")],
)
def test_the_printed_address_works_in_a_browser(host: str, address: str) -> None:
    place = ServeSettings(host=host)
    assert browser_url(place) == address
    assert address.removeprefix("http://").rpartition(":")[0] in security_rules(place).hosts


def test_behind_a_tunnel_the_address_uses_its_host_name() -> None:
    place = ServeSettings(hosts="loop.example, other.example", secure=True)
    assert browser_url(place) == "https://loop.example"
    assert {"loop.example", "other.example", "localhost"} <= set(security_rules(place).hosts)


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
