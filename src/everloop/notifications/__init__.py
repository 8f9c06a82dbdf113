"""Notifications: telling a person about new requests of the inbox, outside of the page.

Web push for each device, a webhook and an e-mail digest. Whatever was sent is on record, with how
it went; nothing is withheld because another device looks connected.
"""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.notifications.background import NotificationTask
    from everloop.notifications.domain import NOTIFICATIONS
    from everloop.notifications.model.commands import RecordDelivery, RemoveSubscription, Subscribe
    from everloop.notifications.model.events import SubscriptionAdded
    from everloop.notifications.model.state import Delivery, Subscription
    from everloop.notifications.ports import Mailer, Notification, Outcome, PushSender, Webhook
    from everloop.notifications.service import (
        NotificationService,
        SubscriptionView,
        load_notifications,
    )
    from everloop.notifications.settings import NotificationSettings

__all__ = [
    "NOTIFICATIONS",
    "Delivery",
    "Mailer",
    "Notification",
    "NotificationService",
    "NotificationSettings",
    "NotificationTask",
    "Outcome",
    "PushSender",
    "RecordDelivery",
    "RemoveSubscription",
    "Subscribe",
    "Subscription",
    "SubscriptionAdded",
    "SubscriptionView",
    "Webhook",
    "load_notifications",
]

__getattr__ = lazy_exports(__name__, __file__)
