"""`everloop push`."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine
from tests.notifications.fake_push_service import fake_push_service

from everloop.access import make_pairing_code, pair_device
from everloop.app import USER, Engine
from everloop.notifications import RecordDelivery, Subscribe

ENGINE = USER.__class__(actor="engine")


def test_without_a_device_it_says_how_to_switch_push_messages_on(tmp_path: Path) -> None:
    shown = CommandLine(tmp_path).typed("push")
    assert "No device gets push messages." in shown.out
    assert "Push messages" in shown.out


@pytest.mark.promise("P-INBOX-5")
def test_devices_are_listed_with_how_each_message_went_and_can_be_tested(tmp_path: Path) -> None:
    line = CommandLine(tmp_path)
    with fake_push_service() as service:
        with Engine.open(tmp_path) as engine:
            code = make_pairing_code(engine.log, engine, engine.ports, USER, lives_s=600)
            device = pair_device(engine, engine.ports, "Pixel", way="code", via=code).device_id
            said = Subscribe(device, **service.subscription(), groups=("needs_you",))
            engine.do(said, by=USER)
            mail = RecordDelivery("email", "7", "digest", "failed", 535, "SMTPAuthenticationError")
            engine.do(mail, by=ENGINE)
        service.statuses = [403]
        refused = line.typed("push", "test", "Pixel")
        assert (refused.code, "refused (403)" in refused.out) == (0, True)
        assert line.typed("push", "test", device, "--json").document[0]["outcome"] == "delivered"
    shown = line.typed("push").out
    for words in ("Pixel", "needs you", "refused (403)", "email", "failed (535)"):
        assert words in shown
    rows = line.typed("push", "--json").document
    assert [row["name"] for row in rows] == ["Pixel", "email"]
    assert [one["outcome"] for one in rows[0]["deliveries"]] == ["delivered", "refused"]
    assert line.typed("push", "test", "Nokia").code == 3
    assert (line("push").code, line("push", "test", "Pixel").code) == (5, 5)
