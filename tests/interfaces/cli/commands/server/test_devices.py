"""`everloop pair` and `everloop devices`."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.access import pairing
from everloop.access.events import DeviceRevoked
from everloop.app import Engine


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    """A command line with a data home of its own."""
    return CommandLine(tmp_path)


def _paired(line: CommandLine, name: str) -> pairing.Credential:
    code: str = line.typed("pair", "--json").document["code"]
    with Engine.open(line.home) as engine:
        return pairing.pair_device(engine, engine.ports, name, way="code", via=code)


def test_only_a_person_gets_a_pairing_code(line: CommandLine) -> None:
    made = line.typed("pair", "--json")
    assert made.document["path"] == f"/#pair={made.document['code']}"
    assert "10 minutes" in line.typed("pair").out
    assert line("pair").code == 5


def test_devices_are_listed_renamed_and_revoked(line: CommandLine) -> None:
    assert "No device" in line.typed("devices").out
    phone = _paired(line, "phone")
    _paired(line, "laptop")
    assert [one["name"] for one in line.typed("devices", "--json").document] == ["laptop", "phone"]
    assert line.typed("devices", "rename", "phone", "my phone").code == 0
    assert "my phone" in line.typed("devices").out
    assert line.typed("devices", "revoke", phone.device_id).code == 0
    assert [one["name"] for one in line.typed("devices", "--json").document] == ["laptop"]
    assert line.typed("devices", "revoke", "phone").code == 3


def test_an_ambiguous_device_name_is_refused(line: CommandLine) -> None:
    for _ in range(2):
        _paired(line, "twin")
    refused = line.typed("devices", "revoke", "twin")
    assert (refused.code, "2 devices" in refused.err) == (3, True)


@pytest.mark.promise("P-CLI-1")
def test_an_agent_can_neither_revoke_nor_rename_a_device(line: CommandLine) -> None:
    _paired(line, "phone")
    for words in (("revoke", "phone"), ("rename", "phone", "x"), ("revoke", "nobody")):
        refused = line("--yes", "devices", *words)
        assert (refused.code, "only the user can" in refused.err) == (5, True), words
    assert [one["name"] for one in line.typed("devices", "--json").document] == ["phone"]


def test_an_agent_cannot_retract_a_device_revocation(
    line: CommandLine,
) -> None:
    phone = _paired(line, "phone")
    with Engine.open(line.home) as engine:  # as an earlier version let agents do
        revoked = engine.log.append(
            "access", [DeviceRevoked(phone.device_id)], actor="agent:cli"
        ).position
    assert line("--yes", "log", "retract", str(revoked)).code == 5
    assert line("--yes", "log", "purge", str(revoked)).code == 5
    assert line.typed("devices", "--json").document == []
