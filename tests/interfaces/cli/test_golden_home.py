"""A data home of an earlier version opens, verifies, and gives the same results."""

# pyright: reportUnknownVariableType=false

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.cli.commandline import CommandLine

GOLDEN = Path(__file__).parents[2] / "golden"
HOMES = sorted(GOLDEN.glob("home-*.tar.xz"))


def _questions() -> Iterator[tuple[Path, str]]:
    for home in HOMES:
        for question in json.loads(_expected(home).read_bytes()):
            yield home, question


def _expected(home: Path) -> Path:
    return home.with_name(home.name.replace(".tar.xz", ".expected.json"))


@pytest.mark.parametrize(
    ("home", "question"), list(_questions()), ids=lambda one: getattr(one, "name", one)
)
@pytest.mark.promise("P-LOG-18")
def test_a_data_home_of_an_earlier_version_gives_the_same_results(
    home: Path, question: str, tmp_path: Path
) -> None:
    expected = json.loads(_expected(home).read_bytes())[question]
    with tarfile.open(home) as archive:
        archive.extractall(tmp_path / "home")  # noqa: S202 - our own file
    answer = CommandLine(tmp_path / "home")(*question.split(), "--json")
    assert _only(answer.document, expected) == expected


def _only(answer: Any, expected: Any) -> Any:
    """The answer without fields that later versions added."""
    if isinstance(answer, dict) and isinstance(expected, dict):
        found: dict[str, Any] = answer
        known: dict[str, Any] = expected
        return {key: _only(found[key], known[key]) for key in found if key in known}
    if isinstance(answer, list) and isinstance(expected, list):
        rows: list[Any] = answer
        wanted: list[Any] = expected
        if len(rows) == len(wanted):
            return [_only(*pair) for pair in zip(rows, wanted, strict=True)]
    return answer
