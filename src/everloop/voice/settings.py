"""Settings of the telephone; section `[voice]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class VoiceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls through Twilio; section `[voice]`. Without these settings there is no telephone."""

    account: Annotated[
        str, Meta(pattern="^(AC[0-9a-f]{32})?$", description="Twilio's Account SID: `AC…`.")
    ] = ""
    auth_key: Annotated[
        str, Meta(description="Twilio's Auth Token. It signs webhooks and places calls.")
    ] = ""
    shared_key: Annotated[
        str,
        Meta(
            description="The secret of the SharedKey, if Twilio signs your webhooks with one"
            " (HMAC_SHA256). Empty: the Auth Token signs them."
        ),
    ] = ""
    pin_key: Annotated[
        str,
        Meta(
            pattern="^([0-9]{6,12})?$",
            description="The PIN that a caller enters before anything else: 6 to 12 digits.",
        ),
    ] = ""
    number: Annotated[
        str, Meta(pattern=r"^(\+[1-9]\d{6,14})?$", description="Your Twilio number: `+15550100`.")
    ] = ""
    callers: Annotated[
        str,
        Meta(
            pattern=r"^ *(\+[1-9]\d{6,14} *(, *\+[1-9]\d{6,14} *)*)?$",
            description="Numbers that may call and be called, separated by commas.",
        ),
    ] = ""
    call_to: Annotated[
        str,
        Meta(
            pattern=r"^(\+[1-9]\d{6,14})?$",
            description="Which of them is called. Empty: the first.",
        ),
    ] = ""
    call_about: Annotated[
        str,
        Meta(
            pattern="^ *((needs_you|failed|finished) *(, *(needs_you|failed|finished) *)*)?$",
            description="Groups of the inbox about which you are called, once for each request:"
            " needs_you, failed, finished. Empty: only where you asked for it.",
        ),
    ] = ""
    public_url: Annotated[
        str,
        Meta(
            description="The address by which Twilio reaches this server: `https://HOST`. Its host"
            " name must also be in `serve.hosts`."
        ),
    ] = ""
    api_url: Annotated[str, Meta(description="The address of Twilio's REST API.")] = (
        "https://api.twilio.com"
    )
    language: Annotated[
        str, Meta(description="The language that is spoken and understood, such as `en-US`.")
    ] = "en-US"
    tts_provider: Annotated[
        str, Meta(description="Who speaks: Google, Amazon or ElevenLabs. Empty: Twilio's choice.")
    ] = ""
    tts_voice: Annotated[
        str, Meta(description="The name of the voice. Empty: Twilio's choice.")
    ] = ""
    answer_tokens_max: Annotated[
        int, Meta(ge=1, description="The longest answer on the telephone, in tokens.")
    ] = 600
    pin_tries_max: Annotated[
        int, Meta(ge=1, le=5, description="Wrong PINs after which a call is ended.")
    ] = 3
    pin_failures_max: Annotated[
        int, Meta(ge=1, le=20, description="Wrong PINs after which none is accepted for a while.")
    ] = 5
    pin_lock_s: Annotated[
        int, Meta(ge=60, description="How long wrong PINs count, in seconds, over all calls.")
    ] = 3_600
    pin_wait_s: Annotated[
        float, Meta(gt=0, description="How long a caller may take to enter the PIN, in seconds.")
    ] = 60.0
    token_lives_s: Annotated[
        int,
        Meta(ge=5, le=600, description="Seconds within which Twilio must connect a taken call."),
    ] = 60
    call_s_max: Annotated[float, Meta(gt=0, description="A longer call is ended, in seconds.")] = (
        1_800.0
    )
    calls_max: Annotated[
        int, Meta(ge=1, le=20, description="Calls at the same time; others are refused.")
    ] = 2
    attempts_max: Annotated[
        int,
        Meta(ge=1, le=10, description="How often a call is tried that was certainly not placed."),
    ] = 3

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers that may call and be called."""
        return _split(self.callers)

    @property
    def called_number(self) -> str:
        """The number that is called; empty if there is none."""
        return self.call_to or next(iter(self.numbers), "")

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of the inbox about which calls are made."""
        return _split(self.call_about)


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
