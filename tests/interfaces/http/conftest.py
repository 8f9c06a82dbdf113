"""A server for one test, and one that the tests of a module share."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.interfaces.http.serving import Served, served


@pytest.fixture
def house(tmp_path: Path) -> Generator[Served]:
    """A server of one's own, whose model has a few answers."""
    with served(tmp_path, [f"Answer number {count}." for count in range(1, 20)]) as one:
        yield one


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A server that a module's tests share, because none of them changes what others see."""
    with served(tmp_path_factory.mktemp("shared"), ["Yes."] * 50) as one:
        yield one
