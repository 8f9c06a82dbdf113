"""`everloop manifest`: Markdown for a prompt on standard output, and nothing else there."""

import json
from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine

PACK = {
    "id": "tidy",
    "lessons": [
        {"external_id": "l1", "description": "Look first", "body": "Before you leap. " * 20}
    ],
    "skills": [{"name": "check", "description": "Checks", "body": "b"}],
}


@pytest.fixture
def told(everloop: CommandLine, tmp_path: Path) -> CommandLine:
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    (tmp_path / "tidy.json").write_text(json.dumps(PACK))
    everloop.typed("packs", "install", str(tmp_path / "tidy.json"), "--yes")
    everloop.typed("remember", "Bees live behind the barn", "--title", "Bees")
    return everloop


def test_the_manifest_is_markdown_with_one_line_per_entry(told: CommandLine) -> None:
    answer = told.typed("manifest", "where", "do", "bees", "live")
    lines = answer.out.splitlines()
    assert answer.code == 0
    assert [line for line in lines if line.startswith("#")] == [
        "## Lessons",
        "## Memories",
        "## Skills",
    ]
    lesson = lines[1]
    assert lesson.startswith("- Look first: Before you leap.")
    assert len(lesson) > 200  # lines of a prompt are not broken to fit a terminal
    assert "- check: Checks" in lines


def test_the_json_manifest_has_sections_and_statistics(told: CommandLine) -> None:
    found = told.typed("manifest", "bees", "--json").document
    (lesson,) = found["lessons"]
    assert lesson["gate"]["kind"] == "block"
    assert len(lesson["preview"]) == 200
    assert found["stats"]["memories"] == 1
    assert found["context_id"].startswith("ctx-")


def test_showing_a_manifest_is_recorded_unless_no_record_is_given(told: CommandLine) -> None:
    told.typed("manifest")
    told.typed("manifest", "--no-record")
    facts = told.typed("log", "tail", "--json", "--kind", "lessons.manifest_shown").document
    assert len(facts) == 1


def test_an_agent_without_a_grant_gets_an_empty_manifest_and_a_note(told: CommandLine) -> None:
    answer = told("manifest")
    assert (answer.code, answer.out) == (0, "")
    assert "agent:cli has no access" in answer.err


def test_an_unknown_status_is_refused(told: CommandLine) -> None:
    assert told.typed("manifest", "--status", "hidden").code == 2
