"""Fixtures for tests of lessons."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.lessons.fixtures import LessonHarness


@pytest.fixture
def harness(tmp_path: Path) -> Generator[LessonHarness]:
    """A harness with an empty log."""
    made = LessonHarness(tmp_path / "log")
    yield made
    made.close()
