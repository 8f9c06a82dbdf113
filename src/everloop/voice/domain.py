"""The telephone domain, as the engine knows it."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from everloop.domain import Deciders, Domain
from everloop.log import Command, Decider
from everloop.voice.model import commands as c
from everloop.voice.model import decide as d
from everloop.voice.model.state import (
    CALL,
    CALLBACK_STREAM,
    CALLBACKS,
    PIN_GUARD,
    PIN_STREAM,
    call_stream,
)
from everloop.voice.projection import VoiceCalls
from everloop.voice.settings import VoiceSettings


class _CallCommand(Protocol):
    @property
    def call_id(self) -> str: ...


def _call_stream(command: _CallCommand) -> str:
    return call_stream(command.call_id)


def _on_call(command: type[Command], decide: Callable[..., Any]) -> Decider[Any, Any]:
    return Decider(command, _call_stream, CALL, decide)


def _on_callbacks(command: type[Command], decide: Callable[..., Any]) -> Decider[Any, Any]:
    return Decider(command, lambda _: CALLBACK_STREAM, CALLBACKS, decide)


def call_rules(settings: VoiceSettings) -> d.CallRules:
    """The rules of calls that the settings decide."""
    return d.CallRules(
        settings.numbers,
        settings.token_lives_s,
        settings.pin_tries_max,
        settings.pin_failures_max,
        settings.pin_lock_s,
        settings.attempts_max,
    )


def _configured(settings: VoiceSettings) -> Deciders:
    rules = call_rules(settings)
    return (
        _on_call(c.AnnounceCall, partial(d.announce_call, rules)),
        _on_call(c.BeginCall, partial(d.begin_call, rules)),
        Decider(c.EnterPin, lambda _: PIN_STREAM, PIN_GUARD, partial(d.enter_pin, rules)),
    )


VOICE = Domain(
    "voice",
    (
        _on_call(c.ConnectCall, d.connect_call),
        _on_call(c.EndCall, d.end_call),
        _on_call(c.RecordPlacedCall, d.record_placed_call),
        _on_call(c.FailCall, d.fail_call),
        _on_call(c.LeaveCallUncertain, d.leave_call_uncertain),
        _on_callbacks(c.RequestCallback, d.request_callback),
        _on_callbacks(c.SettleCallback, d.settle_callback),
    ),
    (VoiceCalls,),
    configured=_configured,
)
