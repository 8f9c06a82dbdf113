"""Events of usage. The wire name is that of the first version."""

from typing import Any

from everloop.log import Event, event, upcast


@event("thread.model_called", schema=2)
class ModelCalled(Event, frozen=True):
    """What a call of a model cost. `cost_usd` is -1 where the price is not known.

    `tokens_cached` are those of `tokens_in` that the service had in its cache.
    """

    purpose: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float
    duration_s: float
    turn_id: str
    tokens_cached: int


@upcast("thread.model_called", from_schema=1)
def _without_cache(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "tokens_cached": 0}
