"""Commands of usage."""

from everloop.log import Command


class RecordModelCall(Command, frozen=True):
    """Record what a call of a model cost."""

    purpose: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float = -1.0
    duration_s: float = 0.0
    turn_id: str = ""
    tokens_cached: int = 0
    because: tuple[int, ...] = ()
