"""`everloop mcp` as a process, over standard input and output."""

import json
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.interfaces.mcp.clients import McpClient, open_client

from everloop.app import Engine
from everloop.log import Context
from everloop.memory import GrantAudience

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "Old Client", "version": "1"},
    },
}
WORDS = {"text": "The user prefers tabs.", "scope": "user", "confirmation": "tabs"}
TOOLS = {
    "browse",
    "claude_code",
    "give_feedback",
    "list_worlds",
    "manifest",
    "propose_lesson",
    "propose_task",
    "read_scene",
    "recall",
    "remember",
    "report_use",
    "task_status",
    "what_does_character_know",
    "zoom",
}


def _command(home: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "everloop", "--home", str(home), "mcp", *more]


@pytest.fixture(params=["auto", "legacy"], ids=["2026", "2025"])
def mcp_client(tmp_path: Path, request: pytest.FixtureRequest) -> Generator[McpClient]:
    command = _command(tmp_path / "home", "--as", "laptop")
    server = StdioServerParameters(
        command=command[0], args=command[1:], env={"EVERLOOP_MEMORY_EMBEDDER": "none"}
    )
    with open_client(stdio_client(server), mode=request.param) as mcp_client:
        yield mcp_client


def test_a_client_lists_the_tools_and_calls_one(mcp_client: McpClient, tmp_path: Path) -> None:
    assert {tool.name for tool in mcp_client.ask("list_tools").tools} == TOOLS
    kept = mcp_client.call("remember", **WORDS)
    with Engine.open(tmp_path / "home") as engine:
        item = engine.memory.find("user", kept["id"])
    assert item.author == "agent:laptop"
    assert item.origin.session.startswith("mcp-")


@pytest.mark.parametrize(("said", "believed"), [("0b-1c", True), ("no/name", False), ("", False)])
def test_the_session_is_the_hosts_own_if_it_names_one(
    tmp_path: Path, said: str, believed: bool
) -> None:
    command = _command(tmp_path / "home")
    environment = {"EVERLOOP_MEMORY_EMBEDDER": "none", "CLAUDE_CODE_SESSION_ID": said}
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    with open_client(stdio_client(server)) as mcp_client:
        kept = mcp_client.call("remember", **WORDS)
    with Engine.open(tmp_path / "home") as engine:
        session = engine.memory.find("user", kept["id"]).origin.session
    assert (session == said) is believed


def test_two_servers_on_one_log_lose_nothing(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "home") as engine:
        for host in ("agent:ha", "agent:hb"):
            engine.do(GrantAudience(host, ("user",)), by=Context(actor="user"))
    command = _command(tmp_path / "home")
    environment = {"EVERLOOP_MEMORY_EMBEDDER": "none"}
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    with ExitStack() as stack:
        guests = [
            stack.enter_context(open_client(stdio_client(server), name=f"h{n}")) for n in "ab"
        ]
        pool = stack.enter_context(ThreadPoolExecutor(8))
        texts = [f"Number {number} of the list is {number * 7}." for number in range(12)]
        calls = [
            pool.submit(guests[number % 2].call, "remember", **WORDS | {"text": text})
            for number, text in enumerate(texts)
        ]
        kept = {call.result()["id"] for call in calls}
    with Engine.open(tmp_path / "home") as engine:
        found = {engine.memory.find("user", item_id).text for item_id in kept}
    assert found == set(texts)


def _asked(home: Path, lines: list[str], *, last: int) -> dict[int, Any]:
    """The responses to these lines by id, up to a given id."""
    answers: dict[int, Any] = {}
    with subprocess.Popen(  # noqa: S603 - our own command
        _command(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.writelines(f"{line}\n" for line in lines)
        server.stdin.flush()
        while last not in answers:
            answer = json.loads(server.stdout.readline())
            answers[answer.get("id")] = answer
        server.stdin.close()
        assert server.stdout.read() == ""
    assert server.returncode == 0
    return answers


def test_standard_output_carries_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    lines = [
        "this is not JSON",
        json.dumps(INITIALIZE),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "nobody/knows"}),
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}),
    ]
    by_id = _asked(tmp_path / "home", lines, last=3)
    assert by_id[1]["result"]["serverInfo"]["name"] == "everloop"
    assert by_id[1]["result"]["protocolVersion"] == "2025-06-18"
    assert by_id[2]["error"]["code"] == -32601
    assert {tool["name"] for tool in by_id[3]["result"]["tools"]} == TOOLS


def test_it_exits_cleanly_when_its_input_ends(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        _command(tmp_path / "home"),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")


def test_an_invalid_host_name_ends_with_a_message(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        _command(tmp_path / "home", "--as", "no/name"),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "is not a valid host name" in done.stderr
    assert done.stdout == ""
