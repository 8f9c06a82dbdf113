"""Events of usage. The wire name is that of the first version."""

from everloop.log import Event, event


@event("thread.model_called")
class ModelCalled(Event, frozen=True):
    """What a call of a model cost. `cost_usd` is -1 where the price is not known."""

    purpose: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float
    duration_s: float
    turn_id: str
