"""Usage needs no state for its decisions: every call is recorded."""

import msgspec

from everloop.log import Fact, Fold

STREAM = "models"


class NoState(msgspec.Struct, frozen=True):
    """Nothing."""


def evolve(_: NoState | None, fact: Fact) -> NoState:
    """Nothing changes."""
    del fact
    return NoState()


CALLS_FOLD = Fold("thread.calls", NoState, evolve)
