"""A data home of an earlier version opens, verifies, and gives the same results."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

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
        archive.extractall(tmp_path / "home", filter="data")
    answer = CommandLine(tmp_path / "home")(*question.split(), "--json")
    assert answer.document == expected
