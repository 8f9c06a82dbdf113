"""What tests of lessons share."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.lessons.fixtures import Classroom


@pytest.fixture
def room(tmp_path: Path) -> Generator[Classroom]:
    """A classroom in which nothing has happened."""
    classroom = Classroom(tmp_path / "room")
    yield classroom
    classroom.close()
