"""`everloop voice`: the dry run, the list of calls, and asking to be called."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine
from tests.voice.fake_twilio import ACCOUNT, AUTH, FakeTwilio, fake_twilio

from everloop.app import USER, Engine
from everloop.doctor import check_voice
from everloop.settings import load
from everloop.voice.model.commands import AnnounceCall
from everloop.workers import TaskSpec

PIN = "802653"


def configure(home: Path, fake: FakeTwilio, *, pin: str = PIN) -> None:
    """Write the settings of a telephone."""
    (home / "settings.toml").write_text(
        f"""
        [serve]
        hosts = "home.example.org"
        [voice]
        account = "{ACCOUNT}"
        auth_key = "{AUTH}"
        pin_key = "{pin}"
        number = "+15550199"
        callers = "+15550100"
        public_url = "https://home.example.org"
        api_url = "{fake.url}"
        """
    )


@pytest.mark.promise("P-VOICE-6")
def test_the_dry_run_names_everything_that_is_missing(tmp_path: Path) -> None:
    answer = CommandLine(tmp_path)("voice", "check", "--json")
    assert answer.code == 69
    wrong = [step for step in answer.document["steps"] if not step["ok"]]
    assert {step["topic"] for step in wrong} == {
        f"voice.{name}"
        for name in ("account", "auth_key", "pin_key", "number", "callers", "public_url")
    }
    assert all(step["hint"] for step in wrong)


@pytest.mark.promise("P-VOICE-6")
def test_the_dry_run_makes_no_call_and_prints_no_secret(tmp_path: Path) -> None:
    line = CommandLine(tmp_path)
    with fake_twilio() as fake:
        configure(tmp_path, fake)
        shown = line("voice", "check")
        assert (shown.code, "The telephone is ready" in shown.out) == (0, True)
        assert fake.calls == []
    for secret in (AUTH, PIN):
        assert secret not in shown.out
        assert secret not in line("settings").out
        assert secret not in line("doctor").out


def test_the_dry_run_asks_twilio_and_the_public_address_only_on_request(tmp_path: Path) -> None:
    with fake_twilio() as fake:
        configure(tmp_path, fake)
        settings = load({}, home=str(tmp_path))
        steps = {one.topic: one for one in check_voice(settings, lambda _: True, online=True)}
        assert fake.calls == []
    assert steps["Twilio account"].ok
    assert not steps["public address"].ok
    assert steps["public address"].hint


@pytest.mark.promise("P-VOICE-6")
def test_doctor_says_that_it_is_off_what_is_wrong_or_that_it_is_ready(tmp_path: Path) -> None:
    line = CommandLine(tmp_path)

    def finding() -> dict[str, str]:
        found: list[dict[str, str]] = line("doctor", "--json").document["findings"]
        return next(one for one in found if one["topic"] == "telephone")

    assert finding()["verdict"] == "absent"
    with fake_twilio() as fake:
        configure(tmp_path, fake, pin="111111")
        assert (finding()["verdict"], "easy" in finding()["words"]) == ("attention", True)
        assert finding()["next_step"]
        configure(tmp_path, fake)
        assert finding()["verdict"] == "fine"


def test_without_its_libraries_the_telephone_says_how_to_install_them(tmp_path: Path) -> None:
    with fake_twilio() as fake:
        configure(tmp_path, fake)
    steps = check_voice(load({}, home=str(tmp_path)), lambda name: name != "twilio")
    assert "everloop[voice]" in steps[-1].hint


def test_calls_are_listed_and_a_call_about_a_task_is_asked_for_by_the_user_alone(
    tmp_path: Path,
) -> None:
    line = CommandLine(tmp_path)
    assert "No calls yet" in line.typed("voice").out
    with fake_twilio() as fake:
        configure(tmp_path, fake)
    with Engine.open(tmp_path, settings=load({}, home=str(tmp_path))) as engine:
        command = AnnounceCall("cal-1", "CA1", "+15559999", "incoming", "abc")
        engine.do(command, by=USER.__class__(actor="engine"))
        spec = TaskSpec("Write the report", "Do.", "command", ("true",))
        task = engine.workers.propose(spec, USER).task.task_id
    asked = line.typed("voice", "call-me", task)
    assert "Write the report" in asked.out
    shown = line.typed("voice").out
    assert ("refused" in shown, "+15559999" in shown, f"task:{task}" in shown) == (True,) * 3
    assert line.typed("voice", "--json").document["wanted"] == [f"task:{task}"]
    assert line.typed("voice", "call-me", task, "--cancel").code == 0
    assert line.typed("voice", "call-me", task, "--cancel").code == 3
    assert line.typed("voice", "call-me", "tsk-none").code == 3
    assert (line("voice").code, line("voice", "call-me", task).code) == (5, 5)
