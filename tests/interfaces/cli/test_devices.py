"""`everloop pair` and `everloop devices`."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.access import keys
from everloop.app import Engine


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    """A command line with a data home of its own."""
    return CommandLine(tmp_path)


def _paired(line: CommandLine, name: str) -> keys.Credential:
    code: str = line.typed("pair", "--json").document["code"]
    with Engine.open(line.home) as engine:
        return keys.pair(engine.do, engine.world, name, way="code", via=code)


def test_a_person_gets_a_code_and_an_agent_gets_none(line: CommandLine) -> None:
    made = line.typed("pair", "--json")
    assert made.document["path"] == f"/#pair={made.document['code']}"
    assert "10 minutes" in line.typed("pair").out
    assert line("pair").code == 5


def test_devices_are_listed_renamed_and_revoked(line: CommandLine) -> None:
    assert "No device" in line.typed("devices").out
    phone = _paired(line, "phone")
    _paired(line, "laptop")
    assert [one["name"] for one in line.typed("devices", "--json").document] == ["laptop", "phone"]
    assert line("devices", "rename", "phone", "my phone").code == 0
    assert "my phone" in line.typed("devices").out
    assert line("devices", "revoke", phone.device_id).code == 0
    assert [one["name"] for one in line.typed("devices", "--json").document] == ["laptop"]
    assert line("devices", "revoke", "phone").code == 3


def test_a_name_that_two_devices_have_says_nothing(line: CommandLine) -> None:
    for _ in range(2):
        _paired(line, "twin")
    refused = line("devices", "revoke", "twin")
    assert (refused.code, "2 devices" in refused.err) == (3, True)
