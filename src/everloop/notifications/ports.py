"""What sending notifications needs from outside: push services, a webhook, a mail server."""

import base64
import hashlib
from typing import Protocol

import msgspec

from everloop.notifications.model.state import Subscription


class Notification(msgspec.Struct, frozen=True):
    """What a notification says: a title and the path of a page. Nothing else is sent."""

    title: str
    path: str
    kind: str
    ttl_s: int = 3_600
    urgent: bool = False

    @property
    def topic(self) -> str:
        """A name for what this is about. A message sent twice has the same, and replaces itself."""
        digest = hashlib.sha256(self.path.encode()).digest()
        return base64.urlsafe_b64encode(digest[:24]).decode()  # 32 characters, as RFC 8030 allows


class Outcome(msgspec.Struct, frozen=True):
    """How sending went: delivered, gone, refused, limited or failed, with the service's status."""

    outcome: str
    status: int = 0
    detail: str = ""
    retry_after_s: int = 0


class PushSender(Protocol):
    """Sends push messages."""

    @property
    def public_key(self) -> str:
        """The key by which browsers know this server; empty if push cannot be sent."""
        ...

    def send(self, to: Subscription, message: Notification) -> Outcome:
        """Hand a message to the push service of a device."""
        ...


class Webhook(Protocol):
    """Posts messages to an address of the user."""

    def post(self, message: Notification) -> Outcome:
        """Post a message."""
        ...


class Mailer(Protocol):
    """Sends mail."""

    def send(self, subject: str, text: str) -> Outcome:
        """Send a plain text to the user."""
        ...
