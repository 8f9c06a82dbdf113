"""A transcript as a listener needs it, from the host's lines to feedback on a lesson."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from everloop.adapters.capture.transcript_turns import detect_transcript_feedback, newest_user_turns
from everloop.app import Engine
from everloop.lessons.feedback.projection import shown_lessons
from everloop.lessons.feedback.settings import FeedbackSettings
from everloop.lessons.feedback.turns import CandidateLesson
from everloop.lessons.model.commands import ProposeLesson, ShowManifest
from everloop.lessons.model.events import FeedbackGiven
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.model import ScriptedModel

HOST = Context(actor="agent:claude-code", session="s-1")
LIMITS = FeedbackSettings()
SHOWN = (CandidateLesson("les-1", "Use pnpm"),)


def line(role: str, content: Any, second: int, **more: Any) -> bytes:
    fields = {
        "type": role,
        "parentUuid": "p",
        "uuid": f"{role}-{second}",
        "sessionId": "s-1",
        "cwd": "/home/ada/shop",
        "version": "2.1.63",
        "timestamp": f"2026-03-01T10:00:{second:02}.000Z",
        "message": {"role": role, "content": content},
    }
    return msgspec.json.encode({**fields, **more}) + b"\n"


def used(lesson_id: str) -> dict[str, Any]:
    tool = "mcp__everloop__report_use"
    return {"type": "tool_use", "id": "x", "name": tool, "input": {"id": lesson_id, "scope": "s"}}


def said(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


TALK = (
    line("user", "install the packages", 1),
    line("assistant", [used("les-1")], 2),
    line("user", [{"type": "tool_result", "tool_use_id": "x"}], 3),
    line("assistant", said("I ran pnpm."), 4),
    b"not json\n",
    line("user", "that's wrong", 20),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "s-1.jsonl"
    made.write_bytes(b"".join(TALK))
    return made


def test_an_assistants_lines_are_one_turn_with_the_lessons_it_reported(path: Path) -> None:
    first, second = newest_user_turns(path, SHOWN, LIMITS)
    assert (first.text, first.before) == ("install the packages", ())
    assert (second.turn_id, second.text, second.host_version) == (
        "user-20",
        "that's wrong",
        "2.1.63",
    )
    user, assistant = second.before
    assert user.text == "install the packages"
    assert (assistant.text, assistant.lesson_ids) == ("I ran pnpm.", ("les-1",))
    assert assistant.at == datetime(2026, 3, 1, 10, 0, 4, tzinfo=UTC)


def test_only_the_newest_turns_are_processed_with_a_few_before_each(path: Path) -> None:
    with path.open("ab") as file:
        for second in range(21, 40):
            file.write(line("user", f"and {second}", second))
    heard = newest_user_turns(path, SHOWN, LIMITS)
    assert [each.text for each in heard] == [f"and {second}" for second in range(34, 40)]
    assert all(len(each.before) == LIMITS.turns_max for each in heard)


def test_only_the_end_of_a_long_transcript_is_read(path: Path) -> None:
    path.write_bytes(line("user", "x" * 5_000, 1) + b"".join(TALK))
    small = FeedbackSettings(tail_bytes=2_000)
    assert [each.text for each in newest_user_turns(path, SHOWN, small)] == [
        "install the packages",
        "that's wrong",
    ]


@pytest.mark.parametrize("given", [{}, {"id": ""}, "les-1"])
def test_a_call_that_names_no_lesson_reports_none(tmp_path: Path, given: Any) -> None:
    call = {"type": "tool_use", "name": "mcp__everloop__report_use", "input": given}
    path = tmp_path / "s.jsonl"
    path.write_bytes(line("assistant", [*said("done"), call], 1) + line("user", "wrong", 2))
    [heard] = newest_user_turns(path, SHOWN, LIMITS)
    assert heard.before[0].lesson_ids == ()


# -- all of it -------------------------------------------------------------------------------------


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "log.db", ports=DeterministicPorts().ports) as made:
        made.do(GrantAudience(HOST.actor, ("*",)))
        for lesson_id, text in (("les-1", "Use pnpm"), ("les-2", "Run the tests")):
            made.do(ProposeLesson(lesson_id, text, text), by=Context(actor="agent:other"))
        yield made


def shown(engine: Engine, by: Context = HOST) -> list[str]:
    with engine.reading() as reader:
        return [each.lesson_id for each in shown_lessons(reader, by, limit=20)]


def test_lessons_shown_in_a_session_are_listed_newest_first(engine: Engine) -> None:
    engine.do(ShowManifest(("les-1",), "ctx-1"), by=HOST)
    engine.do(ShowManifest(("les-2", "les-1", "les-9"), "ctx-2"), by=HOST)
    assert shown(engine) == ["les-2", "les-1"]
    assert shown(engine, Context(actor=HOST.actor, session="s-2")) == []
    assert shown(engine, Context(actor="agent:other", session="s-1")) == []


def test_a_retracted_manifest_counts_as_not_shown(engine: Engine) -> None:
    receipt = engine.do(ShowManifest(("les-1",), "ctx-1"), by=HOST)
    engine.log.retract([receipt.position], reason="x", actor="user")
    assert shown(engine) == []


def test_a_revoked_host_gets_no_information_about_shown_lessons(engine: Engine) -> None:
    engine.do(ShowManifest(("les-1",), "ctx-1"), by=HOST)
    engine.do(GrantAudience(HOST.actor, ("project:other",)))
    assert shown(engine) == []


def _hear(engine: Engine, path: Path, model: ScriptedModel) -> list[str]:
    listener = engine.listener(model)
    outcomes = detect_transcript_feedback(listener, engine.log, path, by=HOST, limits=LIMITS)
    return [outcome.kind for outcome in outcomes]


def test_a_session_without_shown_lessons_is_not_processed(engine: Engine, path: Path) -> None:
    assert _hear(engine, path, ScriptedModel()) == []


def test_blame_in_a_transcript_reaches_the_lesson_once(engine: Engine, path: Path) -> None:
    engine.do(ShowManifest(("les-1", "les-2"), "ctx-1"), by=HOST)
    opinion = {"lesson_id": "les-1", "polarity": "negative", "confidence": 0.9}
    model = ScriptedModel([msgspec.json.encode({"opinions": [opinion]}).decode()])
    assert _hear(engine, path, model) == ["ignored", "heard"]
    assert _hear(engine, path, model) == ["ignored", "heard"]
    assert len(model.calls) == 1
    heard = list(engine.log.read("lesson:les-1"))
    assert sum(isinstance(fact.event, FeedbackGiven) for fact in heard) == 1


def test_an_interrupt_in_a_transcript_reaches_the_lesson(engine: Engine, path: Path) -> None:
    engine.do(ShowManifest(("les-1",), "ctx-1"), by=HOST)
    path.write_bytes(b"".join(TALK[:4]) + line("user", said("[Request interrupted by user]"), 30))
    assert _hear(engine, path, ScriptedModel()) == ["ignored", "heard"]
