"""Commands of notifications."""

from everloop.log import Command


class Subscribe(Command, frozen=True):
    """Send push messages to a device; the latest subscription of a device counts."""

    device_id: str
    endpoint: str
    p256dh: str
    auth: str
    groups: tuple[str, ...]


class RemoveSubscription(Command, frozen=True):
    """Send no more push messages to a device. Idempotent."""

    device_id: str
    reason: str = "The user switched it off."


class RecordDelivery(Command, frozen=True):
    """Record how sending a message went.

    One that was not taken is postponed, by at least `retry_after_s`, until it was tried
    `attempts_max` times.
    """

    channel: str
    subject: str
    kind: str
    outcome: str
    status: int
    detail: str = ""
    because: tuple[int, ...] = ()
    retry_after_s: int = 0
    attempts_max: int = 1
