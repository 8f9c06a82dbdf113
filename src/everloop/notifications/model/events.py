"""Events of notifications: where to send them, and what became of each."""

from everloop.log import Event, event


@event("notifications.subscription_added")
class SubscriptionAdded(Event, frozen=True):
    """A device wants push messages of these groups of requests.

    `keys` are the public key and the shared secret of the browser, which encrypt the message.
    """

    device_id: str
    endpoint: str
    p256dh: str
    auth: str
    groups: tuple[str, ...]


@event("notifications.subscription_removed")
class SubscriptionRemoved(Event, frozen=True):
    """A device gets no push messages any more, and why."""

    device_id: str
    reason: str


@event("notifications.delivery_recorded")
class DeliveryRecorded(Event, frozen=True):
    """A message was handed to its channel, and how that went.

    `channel` is the device id of a push message, `webhook` or `email`. `outcome` is delivered,
    gone, refused, limited or failed; `status` is the code of the service, 0 without one.
    """

    channel: str
    subject: str
    kind: str
    outcome: str
    status: int
    detail: str


@event("notifications.delivery_postponed")
class DeliveryPostponed(Event, frozen=True):
    """A message that its channel did not take is sent again at `until_us`, if it still matters."""

    channel: str
    subject: str
    until_us: int
