"""What an approval shows is what runs: with characters nobody sees, and with very many of them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from tests.workers.rig import Rig
from tests.workers.test_acp import agent
from tests.workers.test_acp import hire as hire_acp
from tests.workers.test_claude import agents
from tests.workers.test_claude import hire as hire_claude

from everloop.app import USER
from everloop.errors import Conflict, EverloopError
from everloop.inbox import BODY_MAX, AnswerRequest, written_out

HIDDEN = "a\u202egpj.exe\u2066b\u200bc\u200dd\ufeffe\u00adf"
LONG = "x" * 20_000
SPOOF = "true\nin folder: /harmless"
COMMANDS = {
    "bidi and zero-width": f"printf %s '{HIDDEN}' > made.txt",
    "20,000 characters": f"printf %s '{LONG}' > made.txt",
    "a line like another field": f"printf %s '{SPOOF}' > made.txt",
}
MADE = {
    "bidi and zero-width": HIDDEN,
    "20,000 characters": LONG,
    "a line like another field": SPOOF,
}
ENDED = ("done", "failed", "uncertain")


def shown_command(body: str) -> str:
    """The command as a person reads it in an approval: one line, or lines that are marked."""
    name = "command:"
    start = body.index(name) + len(name)
    first, *lines = body[start:].split("\n")
    if first:
        return first.removeprefix(" ")
    return "\n".join(line.removeprefix("  | ") for line in lines if line.startswith("  | "))


def approve(work: Rig, name: str, command: str) -> None:
    """Approve what is shown, which is the command; what is bound to another text is refused."""
    work.until(name, "waiting", *ENDED)
    (request,) = work.waiting()
    assert shown_command(request.body) == written_out(command)
    assert written_out(request.body) == request.body  # nothing in it that cannot be seen
    other = hashlib.sha256(b"something else").hexdigest()
    with pytest.raises(EverloopError):
        work.engine.inbox.answer(AnswerRequest(request.request_id, "approve", other), USER)
    assert work.waiting()
    work.answer("approve")
    with pytest.raises(Conflict):
        work.answer_one(request, "deny")


@pytest.mark.parametrize("kind", COMMANDS)
def test_what_an_acp_agents_approval_shows_is_what_runs(tmp_path: Path, kind: str) -> None:
    command = COMMANDS[kind]
    with agent(tmp_path, [{"run": command}, {"say": "Made it."}]) as work:
        name = hire_acp(work)
        approve(work, name, command)
        work.until(name, *ENDED)
        made = tmp_path / "home" / "workers" / "work" / name / "made.txt"
        assert made.read_text() == MADE[kind]


def test_what_claude_codes_approval_shows_is_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f"printf %s '{HIDDEN}{LONG}' > made.txt"
    call: tuple[str, dict[str, Any]] = ("Bash", {"command": command, "description": "Make it"})
    with agents(tmp_path, monkeypatch, [call], ["Made it."]) as (work, _):
        name = hire_claude(work)
        approve(work, name, command)
        work.until(name, *ENDED)
        made = tmp_path / "workers" / "work" / name / "made.txt"
        assert made.read_text() == f"{HIDDEN}{LONG}"


def test_what_is_too_long_to_show_cannot_be_allowed_and_holds_nothing_up(tmp_path: Path) -> None:
    command = f"true {'y' * BODY_MAX}"
    with agent(tmp_path, [{"run": command}, {"say": "Gave up."}]) as work:
        name = hire_acp(work)
        work.until(name, "waiting", *ENDED)
        (request,) = work.waiting()
        assert [one.value for one in request.choices] == ["deny"]
        assert "too many to show" in request.body
        work.answer("deny")
        assert work.until(name, *ENDED).claim == "Gave up."
        assert "permission no" in (tmp_path / "state" / "notes").read_text()


def test_a_result_that_is_too_long_to_show_is_told_with_its_beginning(tmp_path: Path) -> None:
    with agent(tmp_path, [{"say": "z" * (BODY_MAX + 1)}]) as work:
        name = hire_acp(work)
        assert work.until(name, *ENDED).state == "done"
        (request,) = work.waiting()
        assert request.kind == "finished"
        assert "zzz" in request.body
        assert json.dumps(request.body).count("z") <= 20_000
