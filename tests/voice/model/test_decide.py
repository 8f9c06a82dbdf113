"""Decisions about calls: who is let in, how often a token and a PIN count, one call per request."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
import pytest

from everloop.errors import Conflict, Corrupt, Forbidden, Invalid
from everloop.log import Command, Event
from everloop.testing.deterministic import NEW_YEAR, Given, fact, given
from everloop.voice.domain import VOICE
from everloop.voice.model import commands as c
from everloop.voice.model import decide as d
from everloop.voice.model import events as e
from everloop.voice.model.state import (
    CALL,
    CALLBACKS,
    PIN_GUARD,
    Call,
    Callbacks,
    PinGuard,
    evolve,
)
from everloop.voice.settings import VoiceSettings

MINE = "+15550100"
RULES = d.CallRules((MINE,), 60, pin_tries_max=3, pin_failures_max=5, pin_lock_s=3600)
MINUTE_US = 60_000_000
NEW_YEAR_US = 1_767_225_600_000_000
ANNOUNCED = e.CallAnnounced("cal-1", "CA1", MINE, "incoming", "abc", NEW_YEAR_US + MINUTE_US)
BEGUN = e.CallBegun("out-1", "req-1", MINE, 1)
PLACED = e.CallPlaced("out-1", "CA9")
UNCERTAIN = e.CallLeftUncertain("out-1", "gone")

announce = partial(d.announce_call, RULES)
enter_pin = partial(d.enter_pin, RULES)
begin = partial(d.begin_call, RULES)


def call(*events: Event) -> Given[Call]:
    return given(CALL, *events)


def by_engine(state: Given[Call], decide: Callable[..., Any], command: object) -> list[Event]:
    return state.when(decide, command, actor="engine")


def test_every_command_has_one_decider() -> None:
    deciders = (*VOICE.deciders, *VOICE.configured(VoiceSettings()))
    named = {
        one
        for one in vars(c).values()
        if isinstance(one, type) and issubclass(one, Command) and one is not Command
    }
    assert {one.command for one in deciders} == named
    assert len(deciders) == len(named)


def test_an_allowed_number_is_announced_with_a_token_that_expires() -> None:
    command = c.AnnounceCall("cal-1", "CA1", MINE, "incoming", "abc")
    assert by_engine(call(), announce, command) == [ANNOUNCED]


def test_another_number_is_refused_on_the_record() -> None:
    command = c.AnnounceCall("cal-1", "CA1", "+15559999", "incoming", "abc")
    (refused,) = by_engine(call(), announce, command)
    assert isinstance(refused, e.CallRefused)
    assert refused.reason == d.NOT_ALLOWED


@pytest.mark.parametrize("direction", ["incoming", "outgoing"])
def test_a_call_is_announced_once(direction: str) -> None:
    again = c.AnnounceCall("cal-1", "CA1", MINE, direction, "other")
    with pytest.raises(Conflict):
        by_engine(call(ANNOUNCED), announce, again)


@pytest.mark.parametrize("events", [(BEGUN,), (BEGUN, PLACED), (BEGUN, UNCERTAIN)])
def test_an_outgoing_call_is_announced_only_after_it_was_begun(events: tuple[Event, ...]) -> None:
    command = c.AnnounceCall("out-1", "CA9", MINE, "outgoing", "abc")
    (announced,) = by_engine(call(*events), announce, command)
    assert isinstance(announced, e.CallAnnounced)
    with pytest.raises(Conflict):
        by_engine(call(), announce, command)
    (refused,) = by_engine(call(e.CallBegun("out-1", "req-1", "+15550777", 1)), announce, command)
    assert isinstance(refused, e.CallRefused)


def test_a_token_opens_one_connection_in_time() -> None:
    right = c.ConnectCall("cal-1", "abc")
    connected = e.CallConnected("cal-1")
    assert by_engine(call(ANNOUNCED), d.connect_call, right) == [connected]
    late = Given(call(ANNOUNCED).state, NEW_YEAR + timedelta(seconds=60))
    for state, command in (
        (call(ANNOUNCED, connected), right),
        (call(ANNOUNCED), c.ConnectCall("cal-1", "abd")),
        (call(), right),
        (late, right),
    ):
        with pytest.raises(Forbidden):
            by_engine(state, d.connect_call, command)


def pins(*events: Event) -> Given[PinGuard]:
    return given(PIN_GUARD, *events)


def wrong(call_id: str) -> e.PinRefused:
    return e.PinRefused(call_id, "wrong")


@pytest.mark.promise("P-VOICE-3")
def test_the_right_pin_lets_in_and_clears_what_was_wrong_before() -> None:
    right = c.EnterPin("cal-1", correct=True)
    accepted = e.PinAccepted("cal-1")
    assert pins(wrong("cal-1")).when(enter_pin, right, actor="engine") == [accepted]
    cleared = pins(wrong("a"), wrong("b"), accepted).state
    assert cleared == PinGuard()


@pytest.mark.promise("P-VOICE-3")
def test_after_too_many_wrong_pins_not_even_the_right_one_lets_in() -> None:
    right = c.EnterPin("cal-9", correct=True)
    locked = [e.PinRefused("cal-9", "locked")]
    several = pins(*(wrong(f"cal-{number}") for number in range(5)))
    assert several.when(enter_pin, right, actor="engine") == locked
    one_call = pins(*[wrong("cal-9")] * 3)
    assert one_call.when(enter_pin, right, actor="engine") == locked
    later = Given(several.state, NEW_YEAR + timedelta(seconds=3601))
    assert later.when(enter_pin, right, actor="engine") == [e.PinAccepted("cal-9")]


def test_what_is_entered_while_locked_does_not_lengthen_the_lock() -> None:
    several = [wrong(f"cal-{number}") for number in range(5)]
    assert pins(*several, e.PinRefused("x", "locked")).state == pins(*several).state


@pytest.mark.promise("P-VOICE-5")
def test_a_request_gets_one_call() -> None:
    command = c.BeginCall("out-1", "req-1", MINE)
    assert by_engine(call(), begin, command) == [BEGUN]
    for known in (
        (BEGUN,),
        (BEGUN, PLACED),
        (BEGUN, UNCERTAIN),
        (BEGUN, e.CallFailed("out-1", 400, "no")),
        (BEGUN, PLACED, e.CallEnded("out-1", "busy")),
    ):
        later = Given(call(*known).state, NEW_YEAR + timedelta(days=9))
        assert by_engine(later, begin, command) == []


@pytest.mark.parametrize("status", [0, 429])
def test_a_call_that_was_certainly_not_placed_is_tried_again_after_a_pause(status: int) -> None:
    command = c.BeginCall("out-1", "req-1", MINE)
    failed = call(BEGUN, e.CallFailed("out-1", status, "no"))
    assert by_engine(failed, begin, command) == []
    later = Given(failed.state, NEW_YEAR + timedelta(seconds=5))
    assert by_engine(later, begin, command) == [e.CallBegun("out-1", "req-1", MINE, 2)]
    third = e.CallBegun("out-1", "req-1", MINE, 3)
    last = Given(
        call(third, e.CallFailed("out-1", status, "no")).state, NEW_YEAR + timedelta(days=1)
    )
    assert by_engine(last, begin, command) == []


def test_only_a_call_of_which_nothing_is_known_is_left_uncertain_or_failed() -> None:
    leave, fail = c.LeaveCallUncertain("out-1", "gone"), c.FailCall("out-1", 0, "no")
    assert by_engine(call(BEGUN), d.leave_call_uncertain, leave) == [UNCERTAIN]
    assert by_engine(call(BEGUN), d.fail_call, fail) == [e.CallFailed("out-1", 0, "no")]
    answered = e.CallAnnounced("out-1", "CA9", MINE, "outgoing", "abc", 1)
    for known in ((BEGUN, PLACED), (BEGUN, answered)):
        assert by_engine(call(*known), d.leave_call_uncertain, leave) == []
        assert by_engine(call(*known), d.fail_call, fail) == []


def test_a_call_that_was_answered_before_it_was_known_to_be_placed_stays_answered() -> None:
    answered = e.CallAnnounced("out-1", "CA9", MINE, "outgoing", "abc", 1)
    placed = c.RecordPlacedCall("out-1", "CA9")
    assert by_engine(call(BEGUN, answered), d.record_placed_call, placed) == [PLACED]
    state = call(BEGUN, answered, PLACED).state
    assert state is not None
    assert (state.status, state.token_digest) == ("announced", "abc")
    late = call(BEGUN, UNCERTAIN, PLACED).state
    assert late is not None
    assert late.status == "placed"


def test_a_call_ends_once() -> None:
    end = c.EndCall("cal-1", "hung up")
    assert by_engine(call(ANNOUNCED), d.end_call, end) == [e.CallEnded("cal-1", "hung up")]
    assert by_engine(call(ANNOUNCED, e.CallEnded("cal-1", "x")), d.end_call, end) == []
    assert by_engine(call(), d.end_call, end) == []


def wanted(*events: Event) -> Given[Callbacks]:
    return given(CALLBACKS, *events)


def test_the_user_alone_decides_what_to_be_called_about() -> None:
    ask, requested = c.RequestCallback("task:1"), e.CallbackRequested("task:1")
    assert wanted().when(d.request_callback, ask) == [requested]
    assert wanted(requested).when(d.request_callback, ask) == []
    for actor in ("agent:codex", "engine", "worker:1"):
        with pytest.raises(Forbidden):
            wanted().when(d.request_callback, ask, actor=actor)
    with pytest.raises(Invalid):
        wanted().when(d.request_callback, c.RequestCallback(" "))
    many = [e.CallbackRequested(f"task:{number}") for number in range(d.CALLBACKS_MAX)]
    with pytest.raises(Invalid):
        wanted(*many).when(d.request_callback, c.RequestCallback("task:new"))


def test_a_wanted_call_is_settled_once() -> None:
    settle, requested = c.SettleCallback("task:1"), e.CallbackRequested("task:1")
    settled = e.CallbackSettled("task:1")
    assert wanted(requested).when(d.settle_callback, settle, actor="engine") == [settled]
    assert wanted(requested, settled).when(d.settle_callback, settle) == []
    with pytest.raises(Forbidden):
        wanted(requested).when(d.settle_callback, settle, actor="agent:codex")


@pytest.mark.parametrize("actor", ["user", "agent:codex", "worker:1"])
def test_only_the_engine_records_calls(actor: str) -> None:
    asked = (
        (announce, c.AnnounceCall("cal-1", "CA1", MINE, "incoming", "abc")),
        (d.connect_call, c.ConnectCall("cal-1", "abc")),
        (d.end_call, c.EndCall("cal-1", "x")),
        (begin, c.BeginCall("out-1", "req-1", MINE)),
        (d.record_placed_call, c.RecordPlacedCall("out-1", "CA9")),
        (d.fail_call, c.FailCall("out-1", 0, "no")),
        (d.leave_call_uncertain, c.LeaveCallUncertain("out-1", "x")),
    )
    for decide, command in asked:
        with pytest.raises(Forbidden):
            call(ANNOUNCED).when(decide, command, actor=actor)
    with pytest.raises(Forbidden):
        pins().when(enter_pin, c.EnterPin("cal-1", correct=True), actor=actor)


def test_a_fact_of_a_call_that_never_began_is_damage() -> None:
    with pytest.raises(Corrupt):
        evolve(None, fact(e.CallConnected("cal-1"), 1))


def test_no_fact_has_a_field_for_the_pin_or_the_token() -> None:
    fields = {
        field.name
        for one in vars(e).values()
        if isinstance(one, type) and issubclass(one, Event)
        for field in msgspec.structs.fields(one)
    }
    assert fields.isdisjoint({"pin", "digits", "token", "audio"})
