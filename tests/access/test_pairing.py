"""Device credentials and pairing codes."""

from collections.abc import Generator
from pathlib import Path

import pytest

from everloop.access import pairing
from everloop.access.commands import RevokeDevice
from everloop.app import USER, Engine
from everloop.errors import Forbidden
from everloop.log import Context
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.thread.model.commands import HOME
from everloop.thread.service import OutgoingMessage, ThreadService


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    """An engine with a fixed clock."""
    settings = Settings(memory=MemorySettings(embedder="none"))
    with Engine.open(tmp_path, settings=settings, ports=DeterministicPorts().ports) as opened:
        yield opened


def _paired(engine: Engine) -> pairing.Credential:
    code = pairing.make_pairing_code(engine.log, engine, engine.ports, USER, lives_s=600)
    return pairing.pair_device(engine, engine.ports, "phone", way="code", via=code)


def test_a_credential_authenticates_its_device_until_it_is_revoked(engine: Engine) -> None:
    credential = _paired(engine)
    device = pairing.authenticate_device(engine.log, credential.text)
    assert device is not None
    assert device.name == "phone"
    engine.do(RevokeDevice(credential.device_id))
    assert pairing.authenticate_device(engine.log, credential.text) is None


@pytest.mark.parametrize(
    "text", ["", ".", "x", "x.y", "dev-1.", ".secret", "\xff.\xff", "a" * 9_999]
)
def test_a_wrong_credential_authenticates_nobody(engine: Engine, text: str) -> None:
    assert pairing.authenticate_device(engine.log, text) is None
    credential = _paired(engine)
    assert pairing.authenticate_device(engine.log, text) is None
    assert pairing.authenticate_device(engine.log, f"{credential.device_id}.{text}") is None
    assert pairing.authenticate_device(engine.log, f"{credential.text}{text or 'x'}") is None


def test_a_credential_does_not_show_its_secret(engine: Engine) -> None:
    credential = _paired(engine)
    assert credential.secret not in repr(credential)
    told = "".join(str(record.data) for record in engine.log.records())
    assert credential.secret not in told


def test_rewinding_a_conversation_does_not_restore_a_revoked_device(engine: Engine) -> None:
    talk = ThreadService(engine.log, engine, engine.memory)
    talk.home_thread(USER)
    sent = talk.send(HOME, OutgoingMessage("Hello."), USER)
    credential = _paired(engine)
    engine.do(RevokeDevice(credential.device_id))
    talk.rewind(sent.message_id, USER)
    assert pairing.authenticate_device(engine.log, credential.text) is None


def test_pairing_before_any_code_was_made_is_refused(engine: Engine) -> None:
    with pytest.raises(Forbidden):
        pairing.pair_device(engine, engine.ports, "x", way="code", via="ABCDEFGHJK")


def test_a_code_is_long_and_easy_to_read_aloud(engine: Engine) -> None:
    code = pairing.make_pairing_code(engine.log, engine, engine.ports, Context(), lives_s=60)
    assert len(code) == 10
    assert not set(code) & set("01OIl")
