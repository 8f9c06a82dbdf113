"""The generated pages say what the code says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.generate import FOLDER, PAGES

from everloop.interfaces.cli.parsing.command_table import COMMANDS
from everloop.settings import describe_settings

PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
WALKED = re.compile(r"`([a-z_]+(?:/[a-z_]+)+)(?:\.(?:\w+\.)*(\w+))?`")
LINK = re.compile(r"(?:\]\(|src=\"|srcset=\")([^)\"#\s]*)")


def test_no_generated_page_is_stale() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "docs.generate", "--check"],
        cwd=FOLDER.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_command_setting_and_event_has_its_place() -> None:
    pages = {name: (FOLDER / name).read_text() for name in PAGES}
    for spec in COMMANDS:
        assert f"## `everloop {' '.join(spec.words)}`" in pages["cli.md"]
    for setting in describe_settings():
        assert f"`{setting.variable}`" in pages["settings.md"]
    assert "## `log.retracted`" in pages["events.md"]
    assert "sample." not in pages["events.md"]  # what tests declare is not ours to document


def test_every_link_between_our_pages_leads_somewhere() -> None:
    root = FOLDER.parent
    pages = [*root.glob("*.md"), *FOLDER.glob("*.md"), *root.glob("src/**/DESIGN.md")]
    broken = [
        f"{page.relative_to(root)}: {target}"
        for page in pages
        for target in _targets(page)
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_the_readme_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = PYTHON.findall((FOLDER.parent / "README.md").read_text())
    exec(compile(program, "README.md", "exec"), {})  # noqa: S102 - our own page
    both, nothing = capsys.readouterr().out.splitlines()
    assert both.count("AffectedFact(") == 2
    assert nothing == "[]"


def _targets(page: Path) -> list[str]:
    """The files that a page links to."""
    found = LINK.findall(page.read_text())
    return [target for target in found if target and "://" not in target]


def test_every_step_of_the_walks_is_in_the_code() -> None:
    page = (FOLDER.parent / "ARCHITECTURE.md").read_text()
    walks = page[page.index("## Four walks") : page.index("## Invariants")]
    source = FOLDER.parent / "src" / "everloop"
    found = {str(path.relative_to(source).with_suffix("")): path for path in source.rglob("*")}
    steps: list[tuple[str, str]] = WALKED.findall(walks)
    assert len(steps) > 30
    assert [step for step in steps if not _is_in_the_code(step[0], step[1], found)] == []


def _is_in_the_code(module: str, name: str, found: dict[str, Path]) -> bool:
    """Whether a module or folder of this name is there, with this function or class."""
    paths = [path for place, path in found.items() if place.endswith(module)]
    if not name:
        return bool(paths)
    defined = re.compile(rf"(?:def|class) {name}\b")
    return any(path.is_file() and defined.search(path.read_text()) for path in paths)
