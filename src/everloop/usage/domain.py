"""The usage domain, as the engine knows it: one command."""

from everloop.domain import Domain
from everloop.log import Decider
from everloop.usage.commands import RecordModelCall
from everloop.usage.decide import record_model_call
from everloop.usage.state import CALLS_FOLD, STREAM

USAGE = Domain(
    "usage", (Decider(RecordModelCall, lambda _: STREAM, CALLS_FOLD, record_model_call),)
)
