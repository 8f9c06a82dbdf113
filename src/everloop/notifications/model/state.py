"""State of notifications: subscriptions of devices, and the newest deliveries of each channel."""

import msgspec

from everloop.log import Fact, Fold
from everloop.notifications.model.events import (
    DeliveryRecorded,
    SubscriptionAdded,
    SubscriptionRemoved,
)

STREAM = "notifications"
KEPT = 100  # deliveries of one channel that the state has; the log has all


class Subscription(msgspec.Struct, frozen=True):
    """Where the push messages of a device go, and which it wants."""

    device_id: str
    endpoint: str
    p256dh: str
    auth: str
    groups: tuple[str, ...]
    position: int


class Delivery(msgspec.Struct, frozen=True):
    """A message that was sent, and how that went."""

    subject: str
    kind: str
    outcome: str
    status: int
    detail: str
    at_us: int


class NotificationState(msgspec.Struct, frozen=True):
    """The subscriptions by device, and the newest deliveries by channel, the newest first."""

    subscriptions: dict[str, Subscription] = {}
    deliveries: dict[str, tuple[Delivery, ...]] = {}


def evolve(known: NotificationState | None, fact: Fact) -> NotificationState:
    """The state after a fact."""
    state = known or NotificationState()
    match fact.event:
        case SubscriptionAdded() as new:
            added = Subscription(
                new.device_id, new.endpoint, new.p256dh, new.auth, new.groups, fact.position
            )
            kept = {**state.subscriptions, new.device_id: added}
            return msgspec.structs.replace(state, subscriptions=kept)
        case SubscriptionRemoved(device_id=device_id):
            kept = {key: one for key, one in state.subscriptions.items() if key != device_id}
            return msgspec.structs.replace(state, subscriptions=kept)
        case DeliveryRecorded() as new:
            sent = Delivery(
                new.subject, new.kind, new.outcome, new.status, new.detail, fact.recorded_us
            )
            before = state.deliveries.get(new.channel, ())
            newest = {**state.deliveries, new.channel: (sent, *before)[:KEPT]}
            return msgspec.structs.replace(state, deliveries=newest)
        case _:
            return state


NOTIFICATION_STATE = Fold("notifications.state", NotificationState, evolve)
