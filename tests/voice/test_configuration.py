"""What is missing or wrong in the configuration of the telephone, and what a finding may say."""

import pytest

from everloop.errors import Invalid
from everloop.settings import Settings, describe_settings, load
from everloop.voice.configuration import (
    REQUIRED,
    configuration_problems,
    is_configured,
    is_private_host,
)
from everloop.voice.settings import VoiceSettings

WHOLE = {
    "account": "AC" + "0" * 32,
    "auth_key": "an auth token",
    "pin_key": "802653",
    "number": "+15550199",
    "callers": "+15550100, +15550101",
    "public_url": "https://home.example.org",
}
HOSTS = ("home.example.org",)


def settings(**changed: str) -> VoiceSettings:
    return VoiceSettings(**{**WHOLE, **changed})  # type: ignore[arg-type]


def test_nothing_is_configured_by_default() -> None:
    assert not is_configured(VoiceSettings())
    assert is_configured(VoiceSettings(number="+15550199"))
    assert {one.setting for one in configuration_problems(VoiceSettings(), ())} == {
        f"voice.{name}" for name in REQUIRED
    }


def test_a_whole_configuration_has_no_problem() -> None:
    assert configuration_problems(settings(), HOSTS) == []
    assert settings().called_number == "+15550100"
    assert settings(call_to="+15550101").called_number == "+15550101"


@pytest.mark.parametrize("name", REQUIRED)
def test_each_missing_part_is_named_with_its_next_step(name: str) -> None:
    problems = configuration_problems(settings(**{name: ""}), HOSTS)
    assert f"voice.{name}" in {one.setting for one in problems}
    assert all(one.hint for one in problems)


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"public_url": "http://home.example.org"}, "voice.public_url"),
        ({"public_url": "https://127.0.0.1"}, "voice.public_url"),
        ({"public_url": "https://10.0.0.7"}, "voice.public_url"),
        ({"public_url": "https://nas.local"}, "voice.public_url"),
        ({"public_url": "https://home.example.org/voice"}, "voice.public_url"),
        ({"public_url": "https://other.example.org"}, "voice.public_url"),
        ({"public_url": "https://[broken"}, "voice.public_url"),
        ({"api_url": "http://api.twilio.com"}, "voice.api_url"),
        ({"call_to": "+15550777"}, "voice.call_to"),
        ({"callers": "+15550199"}, "voice.callers"),
        ({"pin_key": "111111"}, "voice.pin_key"),
        ({"pin_key": "345678"}, "voice.pin_key"),
        ({"pin_key": "987654"}, "voice.pin_key"),
    ],
)
def test_what_is_wrong_is_named_and_no_secret_is_quoted(
    changed: dict[str, str], wrong: str
) -> None:
    chosen = settings(**changed)
    (problem,) = configuration_problems(chosen, HOSTS)
    assert problem.setting == wrong
    for secret in (chosen.auth_key, chosen.pin_key):
        assert secret not in f"{problem.text} {problem.hint}"


@pytest.mark.parametrize(
    ("host", "private"),
    [("example.org", False), ("8.8.8.8", False), ("::1", True), ("nas", True), ("a.lan", True)],
)
def test_a_host_is_private_if_nobody_outside_can_reach_it(host: str, *, private: bool) -> None:
    assert is_private_host(host) == private


def test_a_pin_that_is_no_pin_is_refused_without_being_printed() -> None:
    with pytest.raises(Invalid) as refused:
        load({"EVERLOOP_VOICE_PIN_KEY": "tiger77"}, home="/nonexistent")
    assert "tiger77" not in str(refused.value)


def test_secrets_are_hidden_where_settings_are_shown() -> None:
    shown = {one.name: one.value for one in describe_settings(Settings(voice=settings()))}
    assert {shown["voice.auth_key"], shown["voice.pin_key"]} == {"…"}
