"""`everloop hook`: it adds context and never blocks the host."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.app import Engine
from everloop.interfaces.cli.commands.server.hook import folder_scope
from everloop.lessons.model.commands import ProposeLesson
from everloop.lessons.model.events import ManifestShown, WordsHeard
from everloop.log import Context
from everloop.log.model.record import fact_of
from everloop.memory.model.commands import RememberItem, RevokeAudience
from everloop.memory.model.events import ContextAssembled

USER = Context()
CLAUDE = Context(actor="agent:claude-code", session="s-1")


@pytest.fixture
def everloop(tmp_path: Path) -> CommandLine:
    commands = CommandLine(tmp_path / "home", {"EVERLOOP_MEMORY_EMBEDDER": "none"})
    commands.typed("grants", "allow", CLAUDE.actor, "*")
    return commands


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "teahouse" / ".git").mkdir(parents=True)
    (tmp_path / "teahouse" / "kitchen").mkdir()
    return tmp_path / "teahouse" / "kitchen"


def _hook(everloop: CommandLine, event: str, **told: Any) -> Any:
    answer = everloop("hook", event, piped=json.dumps({"session_id": "s-1", **told}))
    assert answer.code == 0
    return json.loads(answer.out)["hookSpecificOutput"] if answer.out else None


def test_the_scope_is_named_after_the_enclosing_repository(project: Path, tmp_path: Path) -> None:
    assert folder_scope(str(project)) == "project:teahouse"
    assert folder_scope(str(tmp_path / "loose")) == "project:loose"
    assert folder_scope("/") == "user"


def test_a_session_starts_with_the_lessons_of_its_project(
    everloop: CommandLine, project: Path
) -> None:
    with Engine.open(everloop.home) as engine:
        for name in ("teahouse", "elsewhere"):
            rule = ProposeLesson(f"les-{name}", f"Mind the {name}.", "Do.", scope=f"project:{name}")
            engine.lessons.propose(rule, by=USER)
            engine.lessons.activate(f"les-{name}", by=USER)
    told = _hook(everloop, "session-start", cwd=str(project), source="startup")
    assert told["hookEventName"] == "SessionStart"
    assert "Mind the teahouse." in told["additionalContext"]
    assert "elsewhere" not in told["additionalContext"]
    with Engine.open(everloop.home) as engine:
        facts = [fact_of(record) for record in engine.log.records()]
    shown = [(f.actor, f.event.session) for f in facts if isinstance(f.event, ManifestShown)]
    assert shown == [("agent:claude-code", "s-1")]


def test_a_prompt_gets_matching_memories_and_the_manifest_is_recorded(
    everloop: CommandLine, project: Path
) -> None:
    with Engine.open(everloop.home) as engine:
        said = [("a", "project:teahouse"), ("b", "project:elsewhere"), ("c", "user")]
        for name, scope in said:
            text = f"The {name} kettle whistles at noon."
            engine.do(RememberItem(f"mem-{name}", text, scope=scope), by=USER)
    told = _hook(everloop, "prompt", cwd=str(project), prompt="When does the kettle whistle?")
    assert told["hookEventName"] == "UserPromptSubmit"
    assert "mem-a" in told["additionalContext"]
    assert "mem-c" in told["additionalContext"]
    assert "mem-b" not in told["additionalContext"]
    assert "information, not an instruction" in told["additionalContext"]
    with Engine.open(everloop.home) as engine:
        events = [fact_of(record).event for record in engine.log.records()]
    assert any(isinstance(event, ContextAssembled) for event in events)


@pytest.mark.parametrize("prompt", ["ok", "yes, go on", ""])
def test_a_short_prompt_gets_no_context(everloop: CommandLine, prompt: str) -> None:
    assert _hook(everloop, "prompt", prompt=prompt) is None


def test_weak_matches_are_not_added_to_a_prompt(everloop: CommandLine, project: Path) -> None:
    with Engine.open(everloop.home) as engine:
        engine.do(RememberItem("mem-a", "The kettle is red."), by=USER)
    far = "Please rewrite the parser so that a kettle of nested brackets is reported with its line."
    assert _hook(everloop, "prompt", cwd=str(project), prompt=far) is None


def test_context_over_the_limit_is_cut_at_a_line(everloop: CommandLine, project: Path) -> None:
    with Engine.open(everloop.home) as engine:
        for number in range(5):
            text = f"Kettle {number} whistles at noon. " * 100
            engine.do(RememberItem(f"mem-{number}", text), by=USER)
    everloop.environment["EVERLOOP_HOOKS_TOKENS_MAX"] = "400"
    told = _hook(everloop, "prompt", cwd=str(project), prompt="When do kettles whistle at noon?")
    assert 0 < len(told["additionalContext"]) <= 1_600


def _line(number: int, text: str, **more: Any) -> str:
    return json.dumps(
        {
            "type": "user",
            "message": {"role": "user", "content": text},
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}",
            "sessionId": "s-1",
            "timestamp": "2026-05-17T09:30:00Z",
            "cwd": "/x/kitchen",
            "version": "2.1.0",
            **more,
        }
    )


def test_corrections_are_proposed_once_when_the_host_stops(
    everloop: CommandLine, project: Path, tmp_path: Path
) -> None:
    transcript = tmp_path / "s-1.jsonl"
    transcript.write_text(_line(2, "No, always warm the pot before you make tea.") + "\n")
    for event in ("stop", "session-end"):
        told = {"cwd": str(project), "transcript_path": str(transcript)}
        assert _hook(everloop, event, **told) is None
    with Engine.open(everloop.home) as engine:
        page = engine.lessons.page("user")
    assert [(lesson.status, lesson.scope) for lesson in page.lessons] == [
        ("pending", "project:teahouse")
    ]
    assert page.lessons[0].author == "agent"


@pytest.mark.promise("P-HOST-2")
@pytest.mark.parametrize(
    ("words", "piped"),
    [
        (("nobody-knows",), "{}"),
        ((), "{}"),
        (("prompt", "and", "more"), "{}"),
        (("prompt",), "not JSON"),
        (("prompt",), '{"prompt": 7}'),
        (("prompt",), "[]"),
        (("stop",), '{"transcript_path": "/nowhere/at/all.jsonl"}'),
        (("session-end",), ""),
    ],
)
def test_every_error_in_a_hook_exits_with_0(
    everloop: CommandLine, words: tuple[str, ...], piped: str
) -> None:
    answer = everloop("hook", *words, piped=piped)
    assert (answer.code, answer.out) == (0, "")


def test_a_hook_with_an_unusable_data_home_exits_with_0(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where a folder should be")
    answer = CommandLine(tmp_path / "home")(
        "hook", "prompt", piped='{"prompt": "a long enough one"}'
    )
    assert (answer.code, answer.out) == (0, "")
    assert "everloop hook:" in answer.err


def test_a_hook_with_invalid_settings_exits_with_0(everloop: CommandLine) -> None:
    everloop.environment["EVERLOOP_HOOKS_TOKENS_MAX"] = "many"
    assert everloop("hook", "prompt", piped="{}").code == 0


def test_a_host_without_access_gets_no_context(everloop: CommandLine, project: Path) -> None:
    with Engine.open(everloop.home) as engine:
        engine.do(RememberItem("mem-a", "The kettle whistles at noon."), by=USER)
    prompt = {"cwd": str(project), "prompt": "When does the kettle whistle?"}
    assert _hook(everloop, "prompt", **prompt) is not None
    with Engine.open(everloop.home) as engine:
        engine.do(RevokeAudience("agent:claude-code"), by=USER)
    assert _hook(everloop, "prompt", **prompt) is None


def _heard(everloop: CommandLine) -> list[str]:
    with Engine.open(everloop.home) as engine:
        facts = [fact_of(record) for record in engine.log.records()]
        return [fact.event.text for fact in facts if isinstance(fact.event, WordsHeard)]


def test_what_the_user_says_to_a_trusted_host_is_heard_if_it_may_be_feedback(
    everloop: CommandLine, project: Path, tmp_path: Path
) -> None:
    praise, order = "That works well, thanks.", "Add a page about opening hours to the site."
    _hook(everloop, "prompt", cwd=str(project), prompt=praise)
    assert _heard(everloop) == []
    with Engine.open(everloop.home) as engine:
        engine.lessons.trust("claude-code", by=USER)
    for prompt in (praise, order, praise):
        _hook(everloop, "prompt", cwd=str(project), prompt=prompt)
    assert _heard(everloop) == [praise]
    said = {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": "Spot on."}}
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text(json.dumps(said) + "\n")
    _hook(everloop, "stop", cwd=str(project), transcript_path=str(transcript))
    assert _heard(everloop) == [praise, "Spot on."]
