"""`everloop import loop-engine`: a home comes in with a report, and trusts nothing in it."""

import json
from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.adapters.files.loop_engine_home import read_loop_engine_home
from everloop.app import Engine
from everloop.lessons.crew.events import Team
from everloop.lessons.import_loop_engine import HomeImport
from everloop.lessons.model.lifecycle import Status
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience

MEMORY = """---
id: {id}
description: {title}
created_at: "2026-05-14T00:00:00.000Z"
consumed_by_user_lessons: 0
{more}---
{text}
"""
LESSON = """---
id: {id}
description: {title}
status: {status}
created_at: "2026-05-14T00:00:00.000Z"
causal_narrative:
  trigger: A build.
  failure_mode: The cache was stale.
  correction: Clear it first.
  confidence: inferred
  evidence_refs:
    - {ref}
    - a quote of old
  generated_by: llm
  generated_at: "2026-05-14T00:00:00Z"
applied_count: 4
thumbs_up_count: 2
thumbs_down_count: {blame}
external_signal_sources: []
authored_by: {author}
---
Clear the cache before you build {title}.
"""


@pytest.fixture
def everloop(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "home", {"EVERLOOP_MEMORY_EMBEDDER": "none"})


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    home = tmp_path / "loop"

    def write(name: str, text: str) -> None:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    scope = "scope: !project apollo\norigin:\n  host: squid\n  session_id: abc\n"
    write(
        "memories/mem-a1.md", MEMORY.format(id="mem-a1", title="Cache", more=scope, text="Stale.")
    )
    write(
        "memories/mem-c-1.md",
        MEMORY.format(
            id="mem-c-1", title="Sum", more="derived_from: [mem-a1]\n", text="Caches go stale."
        ),
    )
    write("memories/mem-a1.vec", "xx")
    write("memories/mem-bad.md", "---\ndescription: x\n---\nText.\n")
    for status, number in (("pending", 1), ("active", 2), ("promoted", 3), ("discarded", 4)):
        ref = "memory: mem-a1" if number % 2 else "!memory mem-a1"
        text = LESSON.format(
            id=f"les-{number}", title=f"Rule {number}", status=status, ref=ref,
            blame=int(number == 3), author="user" if number == 2 else "llm",
        )  # fmt: skip
        write(f"lessons/{status}/les-{number}.md", text)
    write(
        "skills/skl-1/SKILL.md",
        "---\nname: formatter\ndescription: Formats.\nstatus: active\nauthored_by: llm\n"
        "evidence_refs:\n  - memory: mem-a1\n---\nFormat it.\n",
    )
    write("personas/ada/PERSONA.md", "---\nid: ada\nname: Ada\ndescription: Careful.\n---\nCare.\n")
    write(
        "teams/eng/TEAM.md",
        "---\nid: eng\nname: Engineers\ndescription: All.\nmembers:\n  - kind: persona\n"
        "    id: ada\n  - ben\nstatus: draft\n---\nBuild.\n",
    )
    write("signals/s-1/e.yaml", "x: 1\n")
    return home


def test_a_home_comes_in_and_nothing_in_it_is_trusted(everloop: CommandLine, loop: Path) -> None:
    answer = everloop("--yes", "--json", "import", "loop-engine", str(loop))
    report = json.loads(answer.out)
    assert report["kinds"]["memories"] == {"found": 2, "new": 2, "activated": 0}
    assert report["kinds"]["lessons"] == {"found": 3, "new": 3, "activated": 0}
    assert [report["kinds"][kind]["new"] for kind in ("skills", "personas", "teams")] == [1, 1, 1]
    assert [problem["name"] for problem in report["problems"]] == ["memories/mem-bad.md"]
    assert report["behind"]["discarded lessons"] == 1
    assert report["behind"]["signals"] == 1
    assert answer.code == 2
    with Engine.open(everloop.home) as engine:
        item = engine.memory.find("user", "mem-a1")
        assert (item.text, item.scope, item.author) == (
            "Stale.", "project:apollo", "agent:loop-engine",
        )  # fmt: skip
        assert (item.origin.host, item.happened_at.year, item.learned_via) == (
            "squid", 2026, "imported",
        )  # fmt: skip
        assert engine.memory.find("user", "mem-c-1").derived_from == ("mem-a1",)
        lessons = {each.lesson_id: each for each in engine.lessons.page("user").lessons}
        assert {each.status for each in lessons.values()} == {Status.PENDING}
        assert {each.scope for each in lessons.values()} == {"project:apollo"}
        assert (lessons["les-2"].author, lessons["les-3"].thumbs_down) == ("user", 1)
        assert lessons["les-1"].narrative is not None
        assert [each.status for each in engine.crew.entry_summaries("user", "skill")] == ["draft"]
        team = engine.crew.find_entry("user", "team", "eng").profile
        assert isinstance(team, Team)
        assert [(each.sort, each.id) for each in team.members] == [
            ("persona", "ada"), ("user", "ben"),
        ]  # fmt: skip


def test_importing_again_changes_nothing(everloop: CommandLine, loop: Path) -> None:
    everloop("--yes", "import", "loop-engine", str(loop))
    with Engine.open(everloop.home) as engine:
        head = engine.log.head
    report = json.loads(everloop("--yes", "--json", "import", "loop-engine", str(loop)).out)
    assert [kind["new"] for kind in report["kinds"].values()] == [0] * 5
    with Engine.open(everloop.home) as engine:
        assert engine.log.head == head


def test_a_preview_records_nothing(everloop: CommandLine, loop: Path) -> None:
    answer = everloop("import", "loop-engine", str(loop), "--preview")
    assert (answer.code, "memories" in answer.out) == (0, True)
    assert not (everloop.home / "everloop.db").exists()


def test_a_folder_that_is_no_home_is_refused(everloop: CommandLine, tmp_path: Path) -> None:
    answer = everloop("--yes", "import", "loop-engine", str(tmp_path))
    assert "is not a home of loop-engine" in answer.err


def test_the_user_activates_what_was_active_there_and_nobody_promotes_it(
    tmp_path: Path, loop: Path
) -> None:
    by = Context(actor="agent:loop-engine", session="import")
    with Engine.open(tmp_path / "home") as engine:
        engine.do(GrantAudience(by.actor, ("*",)))
        found = HomeImport(engine, (engine.lessons, engine.crew), by).run(
            read_loop_engine_home(loop), user=Context()
        )
        assert found.kinds["lessons"].activated == found.kinds["lessons"].new - 1 == 2
        assert found.kinds["skills"].activated == 1
        lessons = {each.lesson_id: each.status for each in engine.lessons.page("user").lessons}
        assert lessons == {
            "les-1": Status.PENDING, "les-2": Status.ACTIVE, "les-3": Status.ACTIVE,
        }  # fmt: skip


def test_a_script_cannot_activate_what_it_imports(everloop: CommandLine, loop: Path) -> None:
    answer = everloop("--yes", "--json", "import", "loop-engine", str(loop), "--activate")
    report = json.loads(answer.out)
    assert [kind["activated"] for kind in report["kinds"].values()] == [0] * 5
    assert any("may not activate" in problem["problem"] for problem in report["problems"])
