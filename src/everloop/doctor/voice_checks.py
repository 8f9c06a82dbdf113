"""Checks of the telephone: its configuration, its library, its signatures. No call is made."""

import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException

import msgspec

from everloop.adapters.twilio_calls import TwilioTelephone
from everloop.adapters.twilio_signatures import SIGNATURE, SignatureCheck
from everloop.doctor.health import Finding
from everloop.settings import Settings
from everloop.voice import ANSWER_PATH, configuration_problems, is_configured

LIBRARIES = ("twilio", "websockets")
INSTALL = "pip install 'everloop[voice]'"
SAMPLE = {"CallSid": "CA0", "From": "+15550100"}
REACHED_WITHIN_S = 10
READ_DOCS = "docs/voice.md explains how"


class VoiceStep(msgspec.Struct, frozen=True):
    """One step of the dry run: what was checked, whether it is fine, and the next step if not."""

    topic: str
    ok: bool
    text: str
    hint: str = ""


def check_voice(
    settings: Settings, has_module: Callable[[str], bool], *, online: bool = False
) -> list[VoiceStep]:
    """Check everything that a call needs; with `online`, also Twilio and the public address."""
    steps = [*_check_here(settings, has_module)]
    if online and all(step.ok for step in steps):
        steps += _check_online(settings)
    return steps


def voice_finding(settings: Settings, has_module: Callable[[str], bool]) -> Finding:
    """The finding of `everloop doctor`."""
    if not is_configured(settings.voice):
        return Finding(
            "telephone", "absent", "off; `voice.account` and others set it up", READ_DOCS
        )
    wrong = [step for step in _check_here(settings, has_module) if not step.ok]
    if wrong:
        words = "; ".join(f"{step.topic}: {step.text}" for step in wrong)
        return Finding("telephone", "attention", f"off: {words}", wrong[0].hint)
    return Finding("telephone", "fine", f"calls to {settings.voice.number} are taken")


def _check_here(settings: Settings, has_module: Callable[[str], bool]) -> Iterator[VoiceStep]:
    problems = configuration_problems(settings.voice, settings.serve.host_names)
    for problem in problems:
        yield VoiceStep(problem.setting, ok=False, text=problem.text, hint=problem.hint)
    if not problems:
        yield VoiceStep("configuration", ok=True, text="complete")
    missing = [name for name in LIBRARIES if not has_module(name)]
    if missing:
        yield VoiceStep("libraries", ok=False, text=f"{missing[0]} is not installed", hint=INSTALL)
    elif not problems:
        yield _check_signature(settings)


def _check_signature(settings: Settings) -> VoiceStep:
    """Sign a webhook as Twilio would, and check that one and a forged one."""
    check = SignatureCheck(settings.voice)
    headers = {SIGNATURE: check.sign(ANSWER_PATH, SAMPLE)}
    genuine = check.accepts_webhook(ANSWER_PATH, SAMPLE, headers)
    forged = check.accepts_webhook(ANSWER_PATH, {**SAMPLE, "From": "+15550101"}, headers)
    text = f"checked for {settings.voice.public_url}{ANSWER_PATH}"
    return VoiceStep("signatures", ok=genuine and not forged, text=text)


def _check_online(settings: Settings) -> Iterator[VoiceStep]:
    status = TwilioTelephone(settings.voice).account_status()
    hint = "" if status == "active" else "Check `voice.account` and `voice.auth_key`."
    yield VoiceStep("Twilio account", ok=status == "active", text=status, hint=hint)
    yield _check_public_address(settings.voice.public_url)


def _check_public_address(url: str) -> VoiceStep:
    hint = "Start the server, and check the proxy or tunnel in front of it."
    try:
        health = f"{url.rstrip('/')}/api/health"  # the configuration check wants https
        with urllib.request.urlopen(health, timeout=REACHED_WITHIN_S) as answer:  # noqa: S310 - https
            return VoiceStep("public address", ok=True, text=f"it answers ({answer.status})")
    except urllib.error.HTTPError as problem:
        return VoiceStep("public address", ok=False, text=f"it refuses ({problem.code})", hint=hint)
    except (OSError, HTTPException) as problem:
        text = f"it was not reached: {type(problem).__name__}"
        return VoiceStep("public address", ok=False, text=text, hint=hint)
