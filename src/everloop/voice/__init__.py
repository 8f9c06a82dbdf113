"""The telephone: calls through Twilio, let in by number and PIN, and calls about the inbox."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.voice.background import CallTask
    from everloop.voice.configuration import (
        VoiceProblem,
        configuration_problems,
        is_configured,
        is_private_host,
    )
    from everloop.voice.domain import VOICE
    from everloop.voice.model.state import Call
    from everloop.voice.ports import PlacedCall, Telephone
    from everloop.voice.queries import CallStep, CallView
    from everloop.voice.service import ANSWER_PATH, STATUS_PATH, AnnouncedCall, VoiceService
    from everloop.voice.settings import VoiceSettings

__all__ = [
    "ANSWER_PATH",
    "STATUS_PATH",
    "VOICE",
    "AnnouncedCall",
    "Call",
    "CallStep",
    "CallTask",
    "CallView",
    "PlacedCall",
    "Telephone",
    "VoiceProblem",
    "VoiceService",
    "VoiceSettings",
    "configuration_problems",
    "is_configured",
    "is_private_host",
]

__getattr__ = lazy_exports(__name__, __file__)
