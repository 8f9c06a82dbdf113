"""Calling the user: one call for each request of the inbox, whatever the service answers."""

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from tests.voice.fake_twilio import ACCOUNT, AUTH, HANG, RESET, FakeTwilio, fake_twilio

from everloop.adapters.twilio_calls import TwilioTelephone
from everloop.app import USER, Engine
from everloop.inbox import Choice, RaiseRequest
from everloop.log import Context, rebuild_projections
from everloop.memory.settings import MemorySettings
from everloop.services import make_voice_service
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.voice import CallTask, VoiceService, VoiceSettings

WORKER = Context(actor="worker:t1")
MINE = "+15550100"
PIN = "802653"


def voice_settings(fake: FakeTwilio, **changed: object) -> VoiceSettings:
    """A whole configuration that calls the fake service."""
    whole = VoiceSettings(
        account=ACCOUNT,
        auth_key=AUTH,
        pin_key=PIN,
        number="+15550199",
        callers=MINE,
        public_url="https://home.example.org",
        api_url=fake.url,
        call_about="finished, failed",
    )
    return msgspec.structs.replace(whole, **changed)


class Rig:
    """An engine that calls when a test says so."""

    def __init__(self, home: Path, fake: FakeTwilio) -> None:
        self.stage, self.fake = DeterministicPorts(), fake
        self.settings = voice_settings(fake)
        settings = Settings(memory=MemorySettings(embedder="none"), voice=self.settings)
        self.engine = Engine.open(home, settings=settings, ports=self.stage.ports)
        self.restart()

    def restart(self, **changed: object) -> None:
        """Forget everything that is not in the log."""
        engine, chosen = self.engine, msgspec.structs.replace(self.settings, **changed)
        telephone = TwilioTelephone(chosen)
        self.service = VoiceService(engine.log, engine, engine.ports, chosen, telephone)
        self.task = CallTask(engine.log, engine.inbox, self.service, self.stage.clock, chosen)

    def ask(self, name: str, kind: str = "finished", subject: str = "") -> None:
        """Raise a request as a worker."""
        raised = RaiseRequest(
            name, kind, f"About {name}", "secret", (Choice("ok", "OK"),), subject=subject
        )
        self.engine.do(raised, by=WORKER)

    def statuses(self) -> dict[str, str]:
        """How each call stands."""
        return {one.request_id: one.status for one in self.service.newest()}


@pytest.fixture
def fake() -> Generator[FakeTwilio]:
    with fake_twilio() as one:
        yield one


@pytest.fixture
def rig(tmp_path: Path, fake: FakeTwilio) -> Generator[Rig]:
    one = Rig(tmp_path, fake)
    yield one
    one.engine.close()


@pytest.mark.promise("P-VOICE-5")
def test_a_request_of_a_chosen_group_is_called_about_once(rig: Rig) -> None:
    rig.ask("done")
    rig.ask("please", "approval")
    rig.task.tick()
    rig.task.tick()
    rig.restart()
    rig.task.tick()
    (call,) = rig.fake.calls
    assert (call["To"], call["From"]) == (MINE, "+15550199")
    assert call["Url"] == "https://home.example.org/voice/call?id=out-done"
    assert "secret" not in str(call)
    assert rig.statuses() == {"done": "placed"}


def test_the_rebuilt_table_of_calls_equals_the_live_one(rig: Rig) -> None:
    rig.fake.statuses = [201, 400, RESET]
    for name in ("one", "two", "three"):
        rig.ask(name)
    rig.task.tick()
    rig.service.announce("CA1", MINE)
    rig.service.enter_pin("cal-CA1", "000000")
    rig.service.end("cal-CA1", "hung up")
    live = rig.service.newest()
    rebuild_projections(rig.engine.log, ["voice_calls"])
    assert rig.service.newest() == live
    assert sorted(one.status for one in live) == ["ended", "failed", "placed", "uncertain"]


def test_a_call_that_was_open_when_its_process_died_is_ended_once_it_must_be_over(
    rig: Rig,
) -> None:
    for sid in ("CA1", "CA2", "CA3"):
        taken = rig.service.announce(sid, MINE)
        assert taken is not None
        if sid != "CA1":
            rig.service.connect(taken.call_id, taken.token)
    rig.service.enter_pin("cal-CA3", PIN)
    rig.restart()
    rig.stage.clock.tick(minutes=20)
    assert rig.service.end_abandoned() == 0  # another process may be talking
    rig.stage.clock.tick(minutes=20)
    assert rig.service.end_abandoned() == 3
    assert rig.service.end_abandoned() == 0
    assert [one.status for one in rig.service.newest()] == ["ended"] * 3


def test_nobody_is_called_about_what_is_old(rig: Rig) -> None:
    rig.ask("done")
    rig.stage.clock.tick(hours=2)
    rig.task.tick()
    assert rig.fake.calls == []


@pytest.mark.parametrize(
    ("status", "outcome", "calls"),
    [
        (400, "failed", 1),
        (401, "failed", 1),
        (408, "uncertain", 1),
        (500, "uncertain", 1),
        (302, "uncertain", 1),
        (RESET, "uncertain", 1),
    ],
)
@pytest.mark.promise("P-VOICE-5")
def test_what_may_have_been_placed_or_was_refused_is_never_placed_again(
    rig: Rig, status: int, outcome: str, calls: int
) -> None:
    rig.fake.statuses = [status]
    rig.ask("done")
    for _ in range(3):
        rig.task.tick()
        rig.stage.clock.tick(minutes=5)
        rig.restart()
    assert len(rig.fake.calls) == calls
    assert rig.statuses() == {"done": outcome}


def test_a_call_that_never_left_the_machine_is_tried_again(rig: Rig) -> None:
    rig.restart(api_url="http://127.0.0.1:9")  # the discard port: nobody listens
    rig.ask("done")
    rig.task.tick()
    assert rig.statuses() == {"done": "failed"}
    rig.restart()
    rig.task.tick()
    assert rig.fake.calls == []
    rig.stage.clock.tick(seconds=5)
    rig.task.tick()
    assert len(rig.fake.calls) == 1
    assert rig.statuses() == {"done": "placed"}


def test_a_limited_call_is_tried_again_a_few_times(rig: Rig) -> None:
    rig.fake.statuses = [429] * 9
    rig.ask("done")
    for _ in range(9):
        rig.task.tick()
        rig.stage.clock.tick(minutes=2)
    assert len(rig.fake.calls) == 3


@pytest.mark.promise("P-VOICE-5")
def test_call_me_when_it_is_done_leads_to_one_call_about_what_was_named(rig: Rig) -> None:
    rig.restart(call_about="")
    rig.ask("early", subject="task:t1")
    rig.service.request_callback("task:t1", USER)
    rig.ask("question", "question", subject="task:t1")
    rig.ask("other", subject="task:t2")
    rig.task.tick()
    assert rig.fake.calls == []
    rig.ask("end", subject="task:t1")
    rig.task.tick()
    rig.ask("second-end", subject="task:t1")
    rig.task.tick()
    assert list(rig.statuses()) == ["end"]
    assert rig.service.callbacks() == {}


def test_the_account_is_checked_without_a_call(fake: FakeTwilio) -> None:
    assert TwilioTelephone(voice_settings(fake)).account_status() == "active"
    wrong = TwilioTelephone(voice_settings(fake, auth_key="other"))
    assert wrong.account_status() == "refused (401)"
    away = TwilioTelephone(voice_settings(fake, api_url="http://127.0.0.1:9"))
    assert away.account_status() == "Twilio was not reached: ConnectionRefusedError"
    assert fake.calls == []


@pytest.mark.promise("P-VOICE-5")
def test_a_killed_process_leaves_its_call_uncertain_and_the_next_never_repeats_it(
    tmp_path: Path, fake: FakeTwilio
) -> None:
    fake.statuses = [HANG]
    with Engine.open(tmp_path, settings=Settings(home=str(tmp_path))) as engine:
        raised = RaiseRequest("one", "finished", "One", "", (Choice("ok", "OK"),))
        engine.do(raised, by=WORKER)
        words = [sys.executable, "-m", "tests.voice.calling_process", str(tmp_path)]
        with subprocess.Popen(  # noqa: S603 - our own programme
            [*words, fake.url, ACCOUNT, AUTH], stdin=subprocess.PIPE
        ) as process:
            fake.wait_for(1)
            process.kill()
        chosen = voice_settings(fake)
        settings = Settings(voice=chosen)
        service = make_voice_service(engine, settings)
        task = CallTask(engine.log, engine.inbox, service, engine.ports.clock, chosen)
        task.start()
        raised = RaiseRequest("two", "finished", "Two", "", (Choice("ok", "OK"),))
        engine.do(raised, by=WORKER)
        fake.wait_for(2)
        task.stop()
        assert {one.request_id: one.status for one in service.newest()} == {
            "one": "uncertain",
            "two": "placed",
        }
    assert [call["Url"].rpartition("=")[2] for call in fake.calls] == ["out-one", "out-two"]
