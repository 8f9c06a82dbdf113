"""TwiML: what Twilio is told to do with a call."""

import importlib
from typing import Any

from everloop.voice import VoiceSettings

GREETING = "This is Everloop. Please enter your PIN on the keypad, and then the hash key."
CALLING = f"Everloop is calling you about your inbox. {GREETING}"


def connect_relay(settings: VoiceSettings, url: str, greeting: str) -> str:
    """Connect the call to our WebSocket, which exchanges text; nothing is recorded."""
    library: Any = importlib.import_module("twilio.twiml.voice_response")
    response, connect = library.VoiceResponse(), library.Connect()
    optional = {"tts_provider": settings.tts_provider, "voice": settings.tts_voice}
    connect.conversation_relay(
        url=url,
        welcome_greeting=greeting,
        welcome_greeting_interruptible="any",
        language=settings.language,
        interruptible="any",
        dtmf_detection=True,
        **{name: value for name, value in optional.items() if value},
    )
    response.append(connect)
    response.hangup()
    return str(response)


def reject() -> str:
    """Do not take the call; the caller hears a busy tone."""
    library: Any = importlib.import_module("twilio.twiml.voice_response")
    response = library.VoiceResponse()
    response.reject(reason="busy")
    return str(response)
