"""State of notifications: subscriptions of devices, and the newest deliveries of each channel."""

import msgspec

from everloop.log import Fact, Fold
from everloop.notifications.model.events import (
    DeliveryPostponed,
    DeliveryRecorded,
    SubscriptionAdded,
    SubscriptionRemoved,
)

STREAM = "notifications"
KEPT = 100  # deliveries of one channel that the state has; the log has all
ATTEMPTS_KEPT_US = 86_400_000_000  # a day: nothing older is announced


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


class SendAttempt(msgspec.Struct, frozen=True):
    """How often a message was sent, and when it is sent again; `due_us` is 0 if it is not."""

    count: int
    at_us: int
    due_us: int = 0


class NotificationState(msgspec.Struct, frozen=True):
    """The subscriptions by device, and the newest deliveries by channel, the newest first.

    `attempts` are those of the last day, by channel and subject.
    """

    subscriptions: dict[str, Subscription] = {}
    deliveries: dict[str, tuple[Delivery, ...]] = {}
    attempts: dict[str, dict[str, SendAttempt]] = {}

    def attempt(self, channel: str, subject: str) -> SendAttempt | None:
        """The last attempt to send something by a channel; None if there was none."""
        return self.attempts.get(channel, {}).get(subject)

    def waits(self, channel: str, subject: str, now_us: int) -> bool:
        """Whether a message is not to be sent now: it was, or it is postponed."""
        last = self.attempt(channel, subject)
        return last is not None and (not last.due_us or now_us < last.due_us)


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
            attempts = _attempted(state, new, fact.recorded_us)
            return msgspec.structs.replace(state, deliveries=newest, attempts=attempts)
        case DeliveryPostponed(channel=channel, subject=subject, until_us=until_us):
            last = state.attempt(channel, subject) or SendAttempt(1, fact.recorded_us)
            postponed = msgspec.structs.replace(last, due_us=until_us)
            known_ones = {**state.attempts.get(channel, {}), subject: postponed}
            attempts = {**state.attempts, channel: known_ones}
            return msgspec.structs.replace(state, attempts=attempts)
        case _:
            return state


def _attempted(
    state: NotificationState, new: DeliveryRecorded, at_us: int
) -> dict[str, dict[str, SendAttempt]]:
    """The attempts with one more, and without those of a channel that are too old to matter."""
    last = state.attempt(new.channel, new.subject)
    since_us = at_us - ATTEMPTS_KEPT_US
    recent = {
        subject: one
        for subject, one in state.attempts.get(new.channel, {}).items()
        if one.at_us >= since_us
    }
    recent[new.subject] = SendAttempt(last.count + 1 if last else 1, at_us)
    return {**state.attempts, new.channel: recent}


NOTIFICATION_STATE = Fold("notifications.state", NotificationState, evolve, version=2)
