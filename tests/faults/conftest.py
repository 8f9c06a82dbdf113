"""The seed of the fault tests: printed, and repeatable."""

import os
import secrets

import pytest

from everloop.testing.seeded_random import SeededRandom

VARIABLE = "FAULT_SEED"


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A fresh seed, or the one in the environment. Shown when the test fails."""
    chosen = os.environ.get(VARIABLE)  # noqa: TID251 - set by whoever repeats a failure
    number = int(chosen) if chosen else secrets.randbits(32)
    print(f"{VARIABLE}={number} repeats {request.node.name}")  # noqa: T201 - pytest shows it
    return number


@pytest.fixture
def chance(seed: int) -> SeededRandom:
    """Random choices, from the seed."""
    return SeededRandom(seed)
