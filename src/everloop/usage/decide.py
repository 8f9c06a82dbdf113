"""Decisions of usage."""

from everloop.log import DecisionContext, Draft
from everloop.usage.commands import RecordModelCall
from everloop.usage.events import ModelCalled
from everloop.usage.state import NoState


def record_model_call(
    _: NoState | None, command: RecordModelCall, asking: DecisionContext
) -> list[Draft]:
    """Record a call as it is given."""
    del asking
    called = ModelCalled(
        command.purpose,
        command.model,
        command.tokens_in,
        command.tokens_out,
        command.cost_usd,
        command.duration_s,
        command.turn_id,
        command.tokens_cached,
    )
    return [Draft(called, command.because)]
