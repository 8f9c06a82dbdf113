"""The examples of docs/python.md run as they stand, and print what the page says."""

import re
from pathlib import Path
from typing import Any

import pytest
from docs.generate import FOLDER

BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)


def test_the_python_page_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    said: list[str] = []
    for kind, text in BLOCK.findall((FOLDER / "python.md").read_text()):
        if kind == "python":
            exec(compile(text, "python.md", "exec"), names)  # noqa: S102 - our own page
            said.append(capsys.readouterr().out)
        else:
            assert said[-1] == text.replace("LESSON", str(names.get("lesson")))
            said[-1] = ""
    assert not any(said), "the page leaves out what an example prints"
