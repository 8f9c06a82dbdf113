"""Output in a narrow terminal: the important part has a line of its own, and is cut last."""

import re
from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine, Terminal

from everloop.app import Engine
from everloop.memory.model.commands import RememberItem
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings

STYLE = re.compile(r"\x1b\[[0-9;]*m")  # how rich makes words bold or coloured


@pytest.fixture
def narrow(everloop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A terminal of forty columns, and no embedder."""
    everloop.environment["EVERLOOP_MEMORY_EMBEDDER"] = "none"
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")  # of a dumb one, no width is known
    return everloop


def shown(narrow: CommandLine, *words: str) -> list[str]:
    """The lines that a person sees."""
    drawn = narrow.run(words, Terminal(), out=Terminal()).out
    lines = STYLE.sub("", drawn).splitlines()
    assert lines
    assert all(len(line) <= 40 for line in lines)
    return lines


def test_grants_show_their_scopes_in_a_narrow_terminal(narrow: CommandLine) -> None:
    narrow.typed("grants", "allow", "agent:claude-code", "project:roof", "project:garden")
    assert "  project:garden, project:roof" in shown(narrow, "grants", "list")


def test_an_import_preview_shows_titles_in_a_narrow_terminal(
    narrow: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "a-page-with-quite-a-long-name.md").write_text("The otters are back\n")
    lines = shown(narrow, "memories", "import", str(tmp_path), "--preview")
    assert any("a-page-with" in line for line in lines)
    assert any("The otters are back" in line for line in lines)


def test_a_source_tree_shows_texts_in_a_narrow_terminal(narrow: CommandLine) -> None:
    settings = Settings(memory=MemorySettings(embedder="none"))
    with Engine.open(narrow.home, settings=settings) as engine:
        engine.do(RememberItem("mem-otters", "The otters are back"))
        made = RememberItem("mem-week", "Otters came", kind="summary", derived_from=("mem-otters",))
        engine.do(made)
    lines = shown(narrow, "zoom", "mem-week")
    assert any(line.endswith("Otters came") for line in lines)
    assert any(line.endswith("The otters are back") for line in lines)


def test_schedules_and_start_rules_show_whole_ids_in_a_narrow_terminal(narrow: CommandLine) -> None:
    narrow.typed("work", "--every", "0 9 * * mon", "--command", "make", "html")
    lines = shown(narrow, "schedules")
    assert "make html" in lines
    assert any(re.fullmatch(r"  sch-[0-9a-f]{32}", line) for line in lines)
    narrow.typed("tasks", "allow", "agent:claude-code", "--folder", str(narrow.home))
    rules = shown(narrow, "tasks", "rules")
    assert any(re.fullmatch(r"  rul-[0-9a-f]{32}", line) for line in rules)


def test_a_list_of_lessons_shows_the_rules_at_80_columns(
    everloop: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    rule = "Measure the humidity before you glue anything"
    everloop.typed("lessons", "propose", rule, "--body", "Wood that is glued damp cracks later.")
    drawn = everloop.run(("lessons",), Terminal(), out=Terminal()).out
    lines = STYLE.sub("", drawn).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert f"  {rule}" in lines
    assert lines[0].startswith("proposed  ")
