"""Messages of Twilio's ConversationRelay: those it sends, and those that we send."""

import msgspec

TEXT_MAX = 10_000  # characters of what a caller says at once


class Setup(msgspec.Struct, frozen=True, rename="camel", tag="setup"):
    """The first message of a connection: which call it carries."""

    session_id: str
    call_sid: str


class VoicePrompt(msgspec.Struct, frozen=True, rename="camel", tag="prompt"):
    """What the caller said. With `last` false, they are still speaking."""

    voice_prompt: str
    last: bool = True


class Dtmf(msgspec.Struct, frozen=True, rename="camel", tag="dtmf"):
    """A key of the telephone."""

    digit: str


class Interrupt(msgspec.Struct, frozen=True, rename="camel", tag="interrupt"):
    """The caller interrupted what was being said."""

    utterance_until_interrupt: str = ""


class RelayError(msgspec.Struct, frozen=True, rename="camel", tag="error"):
    """Twilio could not handle what we sent."""

    description: str = ""


RelayMessage = Setup | VoicePrompt | Dtmf | Interrupt | RelayError

_DECODER: msgspec.json.Decoder[RelayMessage] = msgspec.json.Decoder(RelayMessage)


def parse_message(text: str) -> RelayMessage | None:
    """A message; None if it is of a kind that we do not know, or malformed."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


def say(token: str, *, last: bool) -> str:
    """Speak a piece of text; `last` ends what is said at once."""
    return _encode({"type": "text", "token": token, "last": last})


def hang_up() -> str:
    """End the call."""
    return _encode({"type": "end"})


def _encode(message: dict[str, object]) -> str:
    return msgspec.json.encode(message).decode()
