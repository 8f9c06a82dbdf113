"""The notifications domain, as the engine knows it. It is small enough to need no view."""

from collections.abc import Callable
from typing import Any

from everloop.domain import Domain
from everloop.log import Command, Decider
from everloop.notifications.model import commands as c
from everloop.notifications.model import decide as d
from everloop.notifications.model.state import NOTIFICATION_STATE, STREAM


def _stream(_: Command) -> str:
    return STREAM


def _decider(command: type[Command], decide: Callable[..., Any]) -> Decider[Any, Any]:
    return Decider(command, _stream, NOTIFICATION_STATE, decide)


NOTIFICATIONS = Domain(
    "notifications",
    (
        _decider(c.Subscribe, d.subscribe),
        _decider(c.RemoveSubscription, d.remove_subscription),
        _decider(c.RecordDelivery, d.record_delivery),
    ),
)
