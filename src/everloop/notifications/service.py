"""Notification service: subscriptions of devices, sending to who wants a request, tests."""

from collections.abc import Callable

import msgspec

from everloop.errors import NotFound
from everloop.inbox import RequestView
from everloop.log import CommandBus, Context, Log
from everloop.notifications.model.commands import RecordDelivery, RemoveSubscription, Subscribe
from everloop.notifications.model.state import (
    NOTIFICATION_STATE,
    STREAM,
    Delivery,
    NotificationState,
    Subscription,
)
from everloop.notifications.ports import Notification, Outcome, PushSender, Webhook
from everloop.notifications.settings import NotificationSettings

ENGINE = Context(actor="engine")
WEBHOOK = "webhook"
EMAIL = "email"
TEST = "test"
TITLE_MAX = 120


def load_notifications(log: Log) -> NotificationState:
    """The subscriptions of devices, and the newest deliveries of every channel."""
    return log.state(NOTIFICATION_STATE, STREAM) or NotificationState()


class SubscriptionView(msgspec.Struct, frozen=True):
    """What a device is told, and how the newest messages went."""

    device_id: str
    groups: tuple[str, ...]
    deliveries: tuple[Delivery, ...]


class NotificationService:
    """Who is told of new requests, and how that went."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        settings: NotificationSettings,
        push: PushSender,
        webhook: Webhook | None = None,
        *,
        is_known: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`is_known` says whether a device is still signed in."""
        self._log, self._bus, self._settings = log, bus, settings
        self._push, self._webhook, self._is_known = push, webhook, is_known

    @property
    def public_key(self) -> str:
        """The key by which browsers know this server; empty if push cannot be sent."""
        return self._push.public_key

    @property
    def has_channel(self) -> bool:
        """Whether anybody would be told of a new request."""
        return self._webhook is not None or bool(self.state().subscriptions)

    def state(self) -> NotificationState:
        """The subscriptions and the newest deliveries."""
        return load_notifications(self._log)

    def subscription(self, device_id: str) -> SubscriptionView | None:
        """What a device is told; None if nothing."""
        state = self.state()
        found = state.subscriptions.get(device_id)
        sent = state.deliveries.get(device_id, ())
        return SubscriptionView(device_id, found.groups, sent) if found else None

    def deliveries(self, channel: str) -> tuple[Delivery, ...]:
        """The newest messages of a channel, also of a device that is no longer subscribed."""
        return self.state().deliveries.get(channel, ())

    def subscribe(self, command: Subscribe, by: Context) -> SubscriptionView:
        """Tell a device of new requests."""
        self._bus.do(command, by=by)
        found = self.subscription(command.device_id)
        assert found is not None, "it was recorded just now"
        return found

    def unsubscribe(self, device_id: str, by: Context) -> None:
        """Tell a device nothing any more."""
        self._bus.do(RemoveSubscription(device_id), by=by)

    def send_test(self, device_id: str) -> Delivery:
        """Send a test message to a device and return how that went.

        Raises:
            NotFound: the device is not subscribed.
        """
        to = self.state().subscriptions.get(device_id)
        if to is None:
            raise NotFound("this device gets no push messages", hint="Switch them on first.")
        message = Notification("This is a test", "/inbox", TEST, self._settings.needs_you_ttl_s)
        self._push_to(to, message, TEST, (to.position,))
        return self.deliveries(device_id)[0]

    def announce(self, request: RequestView, now_us: int) -> None:
        """Send a request to every channel that wants it and has not had it, or should again now."""
        message, name = self.message_of(request), request.request_id
        because = (request.position,)
        state = self.state()
        for device_id, to in state.subscriptions.items():
            if not self._is_known(device_id):
                signed_out = RemoveSubscription(device_id, "The device was signed out.")
                self._bus.do(signed_out, by=ENGINE)
            elif self._wants(to, request) and not state.waits(device_id, name, now_us):
                self._push_to(to, message, name, because)
        if self._webhook is not None and not state.waits(WEBHOOK, name, now_us):
            self._deliver(WEBHOOK, message, name, because, self._webhook.post)

    def _wants(self, to: Subscription, request: RequestView) -> bool:
        """Whether a device subscribed to such requests before this one was raised."""
        return request.group in to.groups and to.position < request.position

    def message_of(self, request: RequestView) -> Notification:
        """What is sent of a request: its title and the address of its page."""
        done = request.group == "finished"
        ttl_s = self._settings.finished_ttl_s if done else self._settings.needs_you_ttl_s
        path = f"/inbox?request={request.request_id}"
        return Notification(request.title[:TITLE_MAX], path, request.kind, ttl_s, urgent=not done)

    def record(self, channel: str, subject: str, kind: str, went: Outcome) -> None:
        """Record how a message went that was sent elsewhere, such as a digest."""
        self._bus.do(
            RecordDelivery(channel, subject, kind, went.outcome, went.status, went.detail),
            by=ENGINE,
        )

    def _push_to(
        self, to: Subscription, message: Notification, subject: str, because: tuple[int, ...]
    ) -> Outcome:
        went = self._deliver(
            to.device_id, message, subject, because, lambda one: self._push.send(to, one)
        )
        if went.outcome == "gone":
            reason = f"The push service says that the device is gone ({went.status})."
            self._bus.do(RemoveSubscription(to.device_id, reason), by=ENGINE)
        return went

    def _deliver(
        self,
        channel: str,
        message: Notification,
        subject: str,
        because: tuple[int, ...],
        send: Callable[[Notification], Outcome],
    ) -> Outcome:
        went = send(message)
        recorded = RecordDelivery(
            channel,
            subject,
            message.kind,
            went.outcome,
            went.status,
            went.detail,
            because,
            went.retry_after_s,
            1 if message.kind == TEST else self._settings.attempts_max,
        )
        self._bus.do(recorded, by=ENGINE)
        return went
