"""Fixtures of the JSON-RPC tests."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.interfaces.rpc.clients import Indoors, Process, indoors, serving


@pytest.fixture
def inside(tmp_path: Path) -> Generator[Indoors]:
    """An in-process JSON-RPC server."""
    with indoors(tmp_path / "home") as made:
        yield made


@pytest.fixture
def host(tmp_path: Path) -> Generator[Process]:
    """A client of an `everloop rpc` process."""
    with serving(tmp_path / "home") as client:
        yield client
