"""Logs to test: the same suite runs on every store."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.log.postgres.nodes import Nodes, Place
from tests.log.samples import Sayings, Tally

from everloop.log import Log
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.postgres import PostgresServer


@pytest.fixture
def stage() -> DeterministicPorts:
    """Deterministic ports."""
    return DeterministicPorts()


@pytest.fixture
def log(stage: DeterministicPorts, tmp_path: Path) -> Generator[Log]:
    """An empty log in a file."""
    opened = stage.open(tmp_path / "everloop.db", [Sayings(), Tally()])
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", "postgres"])
def store(
    request: pytest.FixtureRequest, stage: DeterministicPorts, tmp_path: Path
) -> Generator[Log]:
    """An empty log in each store, one after the other."""
    if request.param == "sqlite":
        opened = stage.open(tmp_path / "everloop.db", [Sayings(), Tally()])
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        opened = Place(server.url, tenant=str(tmp_path), folder=str(tmp_path)).open("node")
    yield opened
    opened.close()


@pytest.fixture
def nodes(postgres: PostgresServer, tmp_path: Path) -> Generator[Nodes]:
    """Nodes of a new tenant at the server that the tests share."""
    nodes = Nodes(Place(postgres.url, tenant=str(tmp_path), folder=str(tmp_path)))
    yield nodes
    nodes.close()
