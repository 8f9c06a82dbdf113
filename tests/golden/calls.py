"""Every kind of event of telephone calls, for the golden log."""

from everloop.app import USER, Engine
from everloop.log import Context
from everloop.voice.model import events as e
from everloop.voice.model.commands import RequestCallback, SettleCallback

ENGINE = Context(actor="engine")
NUMBER = "+15550100"


def fill_calls(engine: Engine) -> None:
    """Calls that came, and calls that were placed."""
    engine.do(RequestCallback("task:t1"), by=USER)
    engine.do(SettleCallback("task:t1"), by=USER)
    log, actor = engine.log, ENGINE.actor
    announced = e.CallAnnounced("cal-1", "CA1", NUMBER, "incoming", "digest", 1)
    came = [announced, e.CallConnected("cal-1"), e.CallEnded("cal-1", "hung up")]
    log.append("call:cal-1", came, actor=actor)
    log.append("call:cal-2", [e.CallRefused("cal-2", "CA2", "+15559999", "no")], actor=actor)
    pins = [e.PinRefused("cal-1", "wrong"), e.PinAccepted("cal-1")]
    log.append("voice_pin", pins, actor=actor)
    first, second = e.CallBegun("out-1", "r1", NUMBER, 1), e.CallBegun("out-1", "r1", NUMBER, 2)
    placed = [
        first,
        e.CallFailed("out-1", 0, "not reached"),
        second,
        e.CallLeftUncertain("out-1", "no answer"),
        e.CallPlaced("out-1", "CA3"),
    ]
    log.append("call:out-1", placed, actor=actor)
