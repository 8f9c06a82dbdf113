"""Fixtures for the tests of the command line."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine


@pytest.fixture
def everloop(tmp_path: Path) -> CommandLine:
    """The command line, on a data home of its own."""
    return CommandLine(tmp_path / "home")
