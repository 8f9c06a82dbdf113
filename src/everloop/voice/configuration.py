"""What is missing or wrong in the configuration of the telephone, with the next step for each.

`everloop doctor`, `everloop voice check` and the server ask the same question: while one thing is
wrong, no call is taken and none is placed. No finding quotes a secret.
"""

import ipaddress
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import msgspec

from everloop.voice.settings import VoiceSettings

REQUIRED = ("account", "auth_key", "pin_key", "number", "callers", "public_url")
WORDS = {
    "account": "Set it to the Account SID of Twilio's console.",
    "auth_key": "Set it to the Auth Token of Twilio's console, in settings.toml or by the"
    " variable EVERLOOP_VOICE_AUTH_KEY.",
    "pin_key": "Choose 6 to 12 digits; set it in settings.toml or by the variable"
    " EVERLOOP_VOICE_PIN_KEY.",
    "number": "Set it to the number that you have at Twilio.",
    "callers": "Set it to your own telephone number.",
    "public_url": "Set it to the https address of this server, as Twilio reaches it.",
}
PRIVATE_SUFFIXES = (".local", ".internal", ".lan", ".home", ".localhost", ".test", ".invalid")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
EASY_PIN = "01234567890123456789"


class VoiceProblem(msgspec.Struct, frozen=True):
    """Something that is missing or wrong: the setting, what is wrong, and the next step."""

    setting: str
    text: str
    hint: str


def is_configured(settings: VoiceSettings) -> bool:
    """Whether anything was configured. If nothing was, the telephone is simply off."""
    return any(getattr(settings, name) for name in REQUIRED)


def configuration_problems(
    settings: VoiceSettings, host_names: Sequence[str]
) -> list[VoiceProblem]:
    """Everything that keeps the telephone from working; `host_names` are those of the server."""
    missing = [
        VoiceProblem(f"voice.{name}", "it is not set", WORDS[name])
        for name in REQUIRED
        if not getattr(settings, name)
    ]
    return [
        *missing,
        *_address_problems(settings, host_names),
        *_number_problems(settings),
        *_pin_problems(settings),
    ]


def _address_problems(settings: VoiceSettings, host_names: Sequence[str]) -> Iterator[VoiceProblem]:
    if settings.public_url:
        yield from _public_problems(settings.public_url, host_names)
    address = urlsplit(settings.api_url)
    local = address.hostname in LOOPBACK
    if not (address.scheme == "https" or (address.scheme == "http" and local)):
        hint = "Use https://api.twilio.com, or the https address of your region."
        yield VoiceProblem("voice.api_url", "it is not an https address", hint)


def _public_problems(url: str, host_names: Sequence[str]) -> Iterator[VoiceProblem]:
    setting = "voice.public_url"
    try:
        address = urlsplit(url)
        host = (address.hostname or "").lower()
        _ = address.port
    except ValueError:
        yield VoiceProblem(setting, "it is not an address", WORDS["public_url"])
        return
    if address.scheme != "https" or not host:
        yield VoiceProblem(setting, "it is not an https address", WORDS["public_url"])
    elif address.path.strip("/") or address.query or address.fragment or address.username:
        hint = "Give scheme and host name only: https://HOST"
        yield VoiceProblem(setting, "it has more than a host name", hint)
    elif is_private_host(host):
        hint = "Twilio calls from the internet: use a public name, by a tunnel or a proxy."
        yield VoiceProblem(setting, f"{host!r} cannot be reached from outside", hint)
    elif host not in host_names:
        hint = f"Add {host} to `serve.hosts`; other host names are refused."
        yield VoiceProblem(setting, f"the server does not answer to {host!r}", hint)


def is_private_host(host: str) -> bool:
    """Whether a host is loopback, in a private network, or a name without a domain."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(PRIVATE_SUFFIXES)


def _number_problems(settings: VoiceSettings) -> Iterator[VoiceProblem]:
    if settings.call_to and settings.call_to not in settings.numbers:
        hint = "Add it to `voice.callers`, or leave `voice.call_to` empty."
        yield VoiceProblem("voice.call_to", "it is not one of the allowed numbers", hint)
    if settings.number and settings.number in settings.numbers:
        hint = "List the numbers of your own telephones."
        yield VoiceProblem("voice.callers", "it contains the Twilio number itself", hint)


def _pin_problems(settings: VoiceSettings) -> Iterator[VoiceProblem]:
    pin = settings.pin_key
    if pin and (len(set(pin)) == 1 or pin in EASY_PIN or pin in EASY_PIN[::-1]):
        hint = "Choose digits that nobody guesses: not one digit repeated, no digits in a row."
        yield VoiceProblem("voice.pin_key", "it is too easy to guess", hint)
