"""Feedback of the user on lessons arrives through the hooks of the host."""

import json
from pathlib import Path
from typing import Any

from tests.interfaces.cli.commandline import CommandLine

from everloop.app import Engine
from everloop.lessons.model.commands import ProposeLesson
from everloop.lessons.model.events import FeedbackGiven
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience

LESSON = "les-1"


def line(role: str, content: Any, second: int) -> str:
    fields = {
        "type": role,
        "parentUuid": "p",
        "uuid": f"{role}-{second}",
        "sessionId": "s-1",
        "version": "2.1.63",
        "timestamp": f"2026-03-01T10:00:{second:02}.000Z",
        "message": {"role": role, "content": content},
    }
    return json.dumps(fields) + "\n"


def test_an_interrupt_counts_once_against_the_lesson_used_in_the_turn(tmp_path: Path) -> None:
    everloop = CommandLine(tmp_path / "home", {"EVERLOOP_MEMORY_EMBEDDER": "none"})
    with Engine.open(everloop.home) as engine:
        engine.do(GrantAudience("agent:claude-code", ("*",)))
        engine.do(ProposeLesson(LESSON, "Use pnpm", "Use pnpm"))
        engine.lessons.activate(LESSON, by=Context())
    call = {"type": "tool_use", "name": "mcp__everloop__report_use", "input": {"id": LESSON}}
    path = tmp_path / "s-1.jsonl"
    path.write_text(
        line("user", "install the packages", 1)
        + line("assistant", [call], 2)
        + line("user", [{"type": "text", "text": "[Request interrupted by user]"}], 9)
    )
    told = json.dumps({"session_id": "s-1", "transcript_path": str(path), "cwd": str(tmp_path)})
    for event in ("session-start", "stop", "stop", "session-end"):
        assert everloop("hook", event, piped=told).err == ""
    with Engine.open(everloop.home) as engine:
        facts = list(engine.log.read(f"lesson:{LESSON}"))
    given = [(fact.actor, fact.event) for fact in facts if isinstance(fact.event, FeedbackGiven)]
    assert [(actor, event.helpful, event.confidence) for actor, event in given] == [
        ("agent:claude-code", False, 0.9)
    ]
