"""Fixtures every test may ask for, and how long the property tests run.

PostgreSQL starts when the first test of a worker process asks for it, and serves that worker's
other tests.
"""

import os
import signal
import time
from collections.abc import Generator

import hypothesis
import pytest

from everloop.testing.postgres import PostgresServer, postgres_server

SOAKING = os.environ.get("SOAK") == "1"  # noqa: TID251 - set by `make soak`, not by a user

# One thread for numpy: several test processes share the cores, and its threads would spin for them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251 - for this process only

# A shell lets what it starts in the background ignore Ctrl-C, and that is inherited.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadlines: how long one example takes says more about the machine than about the code.
hypothesis.settings.register_profile("quick", deadline=None, print_blob=True)
hypothesis.settings.register_profile("soak", deadline=None, print_blob=True, max_examples=5000)
hypothesis.settings.load_profile("soak" if SOAKING else "quick")


@pytest.hookimpl(tryfirst=True)  # before `-m soak` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let `make soak` run whatever runs longer there: what asks, and every property test."""
    for item in items:
        test = item.obj if isinstance(item, pytest.Function) else None
        if SOAKING and (hypothesis.is_hypothesis_test(test) or "soaking" in _asked(item)):
            item.add_marker("soak")


def _asked(item: pytest.Item) -> list[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else []


@pytest.fixture(scope="session")
def soaking() -> bool:
    """Whether to run for long: more rounds, more processes, more events."""
    return SOAKING


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """A machine in Berlin, where the clock was set back on 25 October 2026."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Generator[PostgresServer]:
    """The server this worker's tests share. A test that kills one starts its own."""
    with postgres_server(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Generator[str]:
    """An empty database for one test."""
    with postgres.fresh_database() as url:
        yield url
