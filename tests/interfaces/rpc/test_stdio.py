"""`everloop rpc` on standard input and output: a real process, as a host runs it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.rpc.clients import ENDS_WITHIN_S, Process, serving
from tests.interfaces.rpc.hostile import LINES

from everloop import __version__
from everloop.app import Engine
from everloop.memory.model.commands import RememberItem

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
HEAVY = {  # what belongs to other doors, to models and to vectors
    "numpy", "Stemmer", "dateutil", "rich", "yaml", "mcp", "pydantic", "fastapi", "starlette",
    "uvicorn", "anyio", "httpx", "any_llm", "openai", "anthropic", "genai_prices", "psycopg",
    "pyarrow", "webauthn", "jwt",
}  # fmt: skip
OTHER_DOORS = (
    "everloop.interfaces.http",
    "everloop.interfaces.mcp",
    "everloop.adapters.models.discovery",
)


def _note(number: int) -> dict[str, Any]:
    words = f"kestrel {number:04} " + " ".join(f"w{number * 7 + n}" for n in range(6))
    return {"description": f"note {number}", "content": words}


def test_it_answers_a_ping_with_its_version(host: Process) -> None:
    assert host.call("ping") == {"ok": True, "version": __version__}


def test_it_exits_cleanly_when_its_input_ends(host: Process) -> None:
    host.call("ping")
    code, out, err = host.end()
    assert (code, out) == (0, b"")
    assert "ready as agent:rpc" in err


def test_requests_before_the_end_of_input_are_still_answered(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as host:
        out, _ = host.process.communicate(b"\n".join([PING] * 50), timeout=ENDS_WITHIN_S)
    assert [json.loads(line)["id"] for line in out.splitlines()] == [1] * 50


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_exits_cleanly_on_a_signal(host: Process, number: signal.Signals) -> None:
    host.call("memory.create", **_note(1))
    host.process.send_signal(number)
    assert host.process.wait(ENDS_WITHIN_S) == 0
    assert host.answers.read() == b""


@pytest.mark.promise("P-RPC-1")
def test_a_signal_during_many_requests_truncates_no_response(host: Process) -> None:
    host.call("ping")
    host.send(b"\n".join([PING] * 2_000))
    host.process.send_signal(signal.SIGTERM)
    answered = host.answers.read()
    assert host.process.wait(ENDS_WITHIN_S) == 0
    assert all(json.loads(line)["id"] == 1 for line in answered.splitlines())
    assert not answered or answered.endswith(b"\n")


def test_blank_lines_are_skipped_and_responses_keep_their_order(host: Process) -> None:
    asked = [b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % number for number in range(20)]
    host.send(b"\n\n \n\t\r\n".join(asked) + b"\n\n")
    assert [host.receive()["id"] for _ in asked] == list(range(20))


@pytest.mark.promise("P-RPC-2")
def test_it_keeps_serving_after_hostile_lines(host: Process) -> None:
    for line in LINES:
        host.send(line)
        assert host.receive()["error"]["code"] == -32700
    assert host.call("ping")["ok"]


@pytest.mark.promise("P-RPC-2")
def test_a_line_over_the_limit_is_skipped_and_gets_an_error(tmp_path: Path) -> None:
    with serving(tmp_path / "home", EVERLOOP_DOORS_LINE_BYTES_MAX="2000") as host:
        host.send(b'"' + b"a" * 200_000 + b'"')
        assert "longer than 2,000 bytes" in host.receive()["error"]["message"]
        host.send(b" " * (2_000 - len(PING)) + PING)
        assert host.receive()["id"] == 1


def test_a_last_line_without_line_break_is_answered(host: Process) -> None:
    out, _ = host.process.communicate(PING + b"\n" + PING, timeout=ENDS_WITHIN_S)
    assert len(out.splitlines()) == 2


def test_a_large_text_is_returned_in_full(host: Process) -> None:
    text = "é😀\n" * 100_000
    made = host.call("memory.create", description="large", content=text)
    assert host.call("memory.get", id=made["id"])["content"] == text


def test_a_host_that_disconnects_ends_it_without_a_traceback(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as host:
        host.wait_until_ready()
        host.answers.close()
        for _ in range(3):
            if host.process.poll() is None:
                os.write(host.questions.fileno(), PING + b"\n")
        host.questions.close()
        assert host.process.wait(ENDS_WITHIN_S) == 0
        assert host.process.stderr
        assert b"Traceback" not in host.process.stderr.read()


@pytest.mark.promise("P-RPC-1")
def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    for life in range(3):
        with serving(tmp_path / "home") as host:
            acknowledged += [
                host.call("memory.create", **_note(number))["id"]
                for number in range(life * 20, life * 20 + 12)
            ]
            for number in range(life * 20 + 12, life * 20 + 20):  # asked, and not waited for
                params = json.dumps(_note(number)).encode()
                host.send(b'{"jsonrpc":"2.0","id":1,"method":"memory.create","params":%s}' % params)
            host.process.kill()
            host.process.wait(ENDS_WITHIN_S)
    with serving(tmp_path / "home") as host:
        listed = host.call("memory.list", limit=500)
        assert len(set(acknowledged)) == 36
        assert set(acknowledged) <= {memory["id"] for memory in listed["results"]}


@pytest.mark.promise("P-RPC-3")
def test_it_acts_as_the_host_named_on_the_command_line(tmp_path: Path) -> None:
    with serving(tmp_path / "home", "--as", "squid") as host:
        host.call("memory.create", **_note(1))
        code, _, err = host.end()
    assert code == 0
    assert "gave agent:squid access to every scope" in err
    with Engine.open(tmp_path / "home") as engine:
        actors = {record.actor for record in engine.log.records()}
    assert actors == {"agent:squid", "engine"}


@pytest.mark.promise("P-CLI-5")
def test_a_new_name_shows_nothing_of_what_others_wrote(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "home") as engine:
        engine.do(RememberItem("mem-1", "The PIN is 4711."))
    with serving(tmp_path / "home", "--as", "anything") as host:
        assert host.call("memory.list")["total"] == 0
        assert host.call("memory.search", query="PIN")["results"] == []
        _, _, err = host.end()
    assert "agent:anything has no access until you allow it, at a terminal" in err


def test_an_invalid_host_name_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path / "home", "--as", "no name") as host:
        code, out, err = host.end()
    assert (code, out) == (2, b"")
    assert "is not a valid host name" in err


def test_with_admit_hosts_granted_only_granted_hosts_see_memories(tmp_path: Path) -> None:
    with serving(tmp_path / "home", EVERLOOP_DOORS_ADMIT_HOSTS="granted") as host:
        assert host.call("memory.list")["total"] == 0
        host.send(
            b'{"jsonrpc":"2.0","id":1,"method":"memory.create",'
            b'"params":{"description":"a","content":"b"}}'
        )
        assert host.receive()["error"]["code"] == -32005


@pytest.mark.promise("P-RPC-2")
def test_other_prints_go_to_standard_error(tmp_path: Path) -> None:
    programme = (
        "import os, sys\n"
        "from everloop.interfaces.rpc.streams import own_output\n"
        "answers = own_output()\n"
        "print('chatter')\n"
        "os.system('echo more chatter')\n"
        "answers.write(b'answer'); answers.flush()\n"
    )
    command = [sys.executable, "-c", programme]
    ran = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path)  # noqa: S603
    assert ran.stdout == b"answer"
    assert b"chatter" in ran.stderr


def test_startup_imports_no_heavy_modules(tmp_path: Path) -> None:
    asked = (b"ping", b"memory.list", b"lesson.list", b"manifest.assemble")
    lines = b"\n".join(PING.replace(b"ping", name) for name in asked) + b"\n"
    done = subprocess.run(  # noqa: S603 - our own interpreter and words
        [sys.executable, "-X", "importtime", "-m", "everloop", "--home", str(tmp_path), "rpc"],
        input=lines,
        capture_output=True,
        check=True,
    )
    assert [b'"result"' in line for line in done.stdout.splitlines()] == [True] * len(asked)
    names = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "everloop.interfaces.rpc.shapes" in names
    assert not {name.partition(".")[0] for name in names} & HEAVY
    assert not {name for name in names if name.startswith(OTHER_DOORS)}
