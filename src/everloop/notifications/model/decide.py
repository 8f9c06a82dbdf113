"""Decisions of notifications: pure functions of the subscriptions."""

from urllib.parse import urlsplit

from everloop.errors import Forbidden, Invalid
from everloop.log import DecisionContext, Draft, Event, to_microseconds
from everloop.notifications.model.commands import RecordDelivery, RemoveSubscription, Subscribe
from everloop.notifications.model.events import (
    DeliveryPostponed,
    DeliveryRecorded,
    SubscriptionAdded,
    SubscriptionRemoved,
)
from everloop.notifications.model.state import NotificationState

GROUPS = ("needs_you", "failed", "finished")
OUTCOMES = ("delivered", "gone", "refused", "limited", "failed")
TRIED_AGAIN = ("limited", "failed")
PAUSE_FIRST_S = 5  # doubled after each attempt
ENDPOINT_MAX = 2_000
KEY_MAX = 200
DETAIL_MAX = 300
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def subscribe(
    known: NotificationState | None, command: Subscribe, asking: DecisionContext
) -> list[Event]:
    """Take a subscription of a device of the user. The same one again changes nothing."""
    if asking.by.actor != "user":
        raise Forbidden("only the user subscribes a device", hint="Do it in the web pages.")
    _check(command)
    added = SubscriptionAdded(
        command.device_id, command.endpoint, command.p256dh, command.auth, command.groups
    )
    current = known.subscriptions.get(command.device_id) if known else None
    if current is not None and _said(current) == _said(added):
        return []
    return [added]


def remove_subscription(
    known: NotificationState | None, command: RemoveSubscription, _: DecisionContext
) -> list[Event]:
    """End the subscription of a device, if it has one."""
    if known is None or command.device_id not in known.subscriptions:
        return []
    return [SubscriptionRemoved(command.device_id, command.reason[:DETAIL_MAX])]


def record_delivery(
    known: NotificationState | None, command: RecordDelivery, asking: DecisionContext
) -> list[Draft]:
    """Record how sending went, and when it is tried again if the channel did not take it."""
    if asking.by.actor not in ("engine", "user"):
        raise Forbidden("only the engine records deliveries", hint="Ask the user.")
    if command.outcome not in OUTCOMES:
        raise Invalid(f"{command.outcome!r} is not an outcome", hint=f"Use {', '.join(OUTCOMES)}.")
    recorded = DeliveryRecorded(
        command.channel,
        command.subject,
        command.kind,
        command.outcome,
        command.status,
        command.detail[:DETAIL_MAX],
    )
    drafts = [Draft(recorded, command.because)]
    before = known.attempt(command.channel, command.subject) if known else None
    count = before.count + 1 if before else 1
    if command.outcome in TRIED_AGAIN and count < command.attempts_max:
        pause_s = max(command.retry_after_s, PAUSE_FIRST_S << (count - 1))
        until_us = to_microseconds(asking.now) + pause_s * 1_000_000
        postponed = DeliveryPostponed(command.channel, command.subject, until_us)
        drafts.append(Draft(postponed, command.because, beside=(0,)))
    return drafts


def _said(one: object) -> tuple[object, ...]:
    return tuple(getattr(one, name) for name in ("endpoint", "p256dh", "auth", "groups"))


def _check(command: Subscribe) -> None:
    address = urlsplit(command.endpoint)
    local = address.hostname in LOOPBACK
    if len(command.endpoint) > ENDPOINT_MAX or not (
        address.scheme == "https" or (address.scheme == "http" and local)
    ):
        raise Invalid("the push service has no https address", hint="Subscribe again.")
    if not command.p256dh or not command.auth or max(map(len, _keys(command))) > KEY_MAX:
        raise Invalid("the keys of the subscription are missing", hint="Subscribe again.")
    unknown = set(command.groups) - set(GROUPS)
    if unknown:
        raise Invalid(f"{min(unknown)!r} is not a group", hint=f"Use {', '.join(GROUPS)}.")


def _keys(command: Subscribe) -> tuple[str, str]:
    return command.p256dh, command.auth
