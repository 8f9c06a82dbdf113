"""Logs to test: the same suite runs on every store."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.log.samples import Sayings, Tally

from everloop.log import Log
from everloop.testing.stage import Stage


@pytest.fixture
def stage() -> Stage:
    """A still world."""
    return Stage()


@pytest.fixture
def log(stage: Stage, tmp_path: Path) -> Generator[Log]:
    """An empty log in a file."""
    opened = stage.open(tmp_path / "everloop.db", [Sayings(), Tally()])
    yield opened
    opened.close()
