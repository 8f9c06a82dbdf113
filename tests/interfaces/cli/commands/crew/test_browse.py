"""Skills, personas, teams and packs on the command line."""

import json
from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine

PAGE = "---\nname: deploy\ndescription: Ships a release\nhooks:\n  Stop: []\n---\n\nRun it.\n"
PACK = {
    "id": "tidy",
    "lessons": [{"external_id": "l1", "description": "Look first", "body": "b", "promoted": True}],
    "skills": [{"name": "check", "description": "Checks", "body": "b"}, {"name": "Bad Name"}],
}


@pytest.fixture
def crew(everloop: CommandLine) -> CommandLine:
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    return everloop


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    home = tmp_path / "skills" / "deploy"
    (home / "scripts").mkdir(parents=True)
    (home / "SKILL.md").write_text(PAGE)
    (home / "scripts" / "run.sh").write_text("#!/bin/sh\n")
    return home.parent


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "tidy.json"
    path.write_text(json.dumps(PACK))
    return path


def test_skills_are_exported_as_they_were_imported(
    crew: CommandLine, skills: Path, tmp_path: Path
) -> None:
    answer = crew.typed("skills", "import", str(skills))
    assert answer.code == 0
    assert "To undo: everloop log retract 1" in answer.out
    assert "deploy" in crew.typed("skills").out
    shown = crew.typed("skills", "show", "deploy").out
    assert "Ships a release" in shown
    assert "scripts/run.sh" in shown
    assert crew.typed("skills", "export", str(tmp_path / "out")).code == 0
    assert (tmp_path / "out" / "deploy" / "SKILL.md").read_text() == PAGE
    again = crew.typed("skills", "import", str(tmp_path / "out"), "--json").document
    assert [entry["what"] for entry in again["entries"]] == ["unchanged"]


def test_hooks_and_files_of_a_skill_are_stored_and_never_run(
    crew: CommandLine, skills: Path, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    script = f"#!/bin/sh\ntouch {ran}\n"
    handlers = f"    - hooks:\n        - type: command\n          command: touch {ran}\n"
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd")
    hooks = "".join(f"  {event}:\n{handlers}" for event in events)
    page = f"---\nname: deploy\ndescription: Ships a release\nhooks:\n{hooks}---\n\nRun it.\n"
    (skills / "deploy" / "SKILL.md").write_text(page)
    (skills / "deploy" / "scripts" / "run.sh").write_text(script)
    (skills / "deploy" / "scripts" / "run.sh").chmod(0o755)
    assert crew.typed("skills", "import", str(skills)).code == 0
    assert "deploy" in crew.typed("manifest").out
    told = json.dumps(
        {"session_id": "s-1", "cwd": str(tmp_path), "prompt": "Ship the release now."}
    )
    for event in ("session-start", "prompt", "stop", "session-end"):
        assert crew("hook", event, piped=told).code == 0
    assert str(ran) in crew.typed("skills", "show", "deploy").out
    assert crew.typed("skills", "export", str(tmp_path / "out")).code == 0
    assert (tmp_path / "out" / "deploy" / "SKILL.md").read_text() == page
    assert not ran.exists()


def test_an_edited_export_is_reported_and_not_overwritten(
    crew: CommandLine, skills: Path, tmp_path: Path
) -> None:
    crew.typed("skills", "import", str(skills))
    crew.typed("skills", "export", str(tmp_path / "out"))
    (tmp_path / "out" / "deploy" / "SKILL.md").write_text("mine")
    answer = crew.typed("skills", "export", str(tmp_path / "out"), "deploy")
    assert answer.code == 2
    assert "deploy/SKILL.md" in answer.out
    assert crew.typed("skills", "export", str(tmp_path / "out"), "none").code == 3


def test_skills_imported_by_a_script_are_inactive(crew: CommandLine, skills: Path) -> None:
    done = crew("skills", "import", str(skills), "--json").document
    assert (done["entries"][0]["status"], done["entries"][0]["withheld"]) == ("draft", True)
    assert crew("skills", "activate", "deploy").code == 5
    assert crew.typed("skills", "activate", "deploy").code == 0
    assert "already active" in crew.typed("skills", "activate", "deploy").out


def test_archiving_an_entry_of_the_user_needs_force(crew: CommandLine, skills: Path) -> None:
    crew.typed("skills", "import", str(skills))
    assert crew.typed("skills", "archive", "deploy").code == 5
    assert crew("skills", "remove", "deploy", "--force").code == 5
    assert "is archived" in crew.typed("skills", "archive", "deploy", "--force").out
    assert "No skills found" in crew.typed("skills").out
    listed = crew.typed("skills", "--status", "archived", "--json").document
    assert [each["name"] for each in listed["skills"]] == ["deploy"]
    assert "is removed" in crew.typed("skills", "remove", "deploy", "--force").out
    assert crew.typed("skills", "show", "deploy").code == 3


def test_personas_and_teams_are_created_and_updated(crew: CommandLine) -> None:
    words = ("--title", "Ada", "--description", "Careful", "--body", "Be careful.")
    assert "Saved" in crew.typed("personas", "write", "ada", *words).out
    assert "No change" in crew.typed("personas", "write", "ada").out
    crew.typed("personas", "write", "ada", "--description", "Very careful")
    shown = crew.typed("personas", "show", "ada", "--json").document
    assert shown["profile"]["title"] == "Ada"
    assert shown["headline"]["description"] == "Very careful"
    members = ("--member", "persona:ada", "--member", "ben")
    crew.typed("teams", "write", "home", "--description", "Us", *members)
    crew.typed("teams", "write", "home", "--title", "Home")
    assert "persona:ada, user:ben" in crew.typed("teams", "show", "home").out
    assert crew.typed("teams", "write", "away", "--description", "x", "--member", "a:b").code == 2


def test_a_pack_is_previewed_before_it_is_installed(crew: CommandLine, pack: Path) -> None:
    preview = crew.typed("packs", "install", str(pack), "--preview")
    assert "promoted immediately" in preview.out
    assert crew.typed("packs", "install", str(pack), answers="n\n").code == 1
    assert "No packs" in crew.typed("packs").out
    answer = crew.typed("packs", "install", str(pack), answers="y\n")
    assert answer.code == 2  # one entry was left aside
    assert "skills[1]" in answer.out
    assert "tidy" in crew.typed("packs").out
    assert crew.typed("packs", "--json").document == {"tidy": {"lesson": 1, "skill": 1}}


def test_a_pack_installed_by_a_script_is_inactive(crew: CommandLine, pack: Path) -> None:
    assert crew("packs", "install", str(pack)).code == 2
    done = crew("packs", "install", str(pack), "--yes", "--json").document
    assert {entry["status"] for entry in done["entries"]} == {"pending", "draft"}
    assert all(entry["withheld"] for entry in done["entries"])


def test_skills_of_others_are_hidden_without_a_grant(crew: CommandLine, skills: Path) -> None:
    crew.typed("skills", "import", str(skills))
    answer = crew("skills")
    assert (answer.code, answer.out) == (5, "")
    assert "agent:cli has no access" in answer.err
    crew.typed("grants", "allow", "agent:cli", "*")
    assert "deploy" in crew("skills").out
    assert "No skills" in crew.typed("skills", "--for", "agent:other").out
    assert crew("skills", "--for", "user").code == 5
