"""Fixtures of the JSON-RPC door."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.interfaces.rpc.clients import Indoors, Process, indoors, serving


@pytest.fixture
def inside(tmp_path: Path) -> Generator[Indoors]:
    """The door without a wire."""
    with indoors(tmp_path / "home") as made:
        yield made


@pytest.fixture
def host(tmp_path: Path) -> Generator[Process]:
    """A host with a process of its own."""
    with serving(tmp_path / "home") as client:
        yield client
