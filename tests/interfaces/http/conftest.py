"""Fixtures of the HTTP tests: a server per test, and one shared by a module."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.interfaces.http.serving import Served, served


@pytest.fixture
def server(tmp_path: Path) -> Generator[Served]:
    """A server for one test, whose model has 19 answers."""
    with served(tmp_path, [f"Answer number {count}." for count in range(1, 20)]) as one:
        yield one


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A server shared by a module whose tests do not affect each other."""
    with served(tmp_path_factory.mktemp("shared"), ["Yes."] * 50) as one:
        yield one
