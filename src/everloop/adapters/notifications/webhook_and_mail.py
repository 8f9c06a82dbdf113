"""A webhook and a mail server, for those who switch them on."""

import json
import smtplib
import ssl
import urllib.error
import urllib.request
from email.message import EmailMessage
from http.client import HTTPException

from everloop.notifications import Notification, NotificationSettings, Outcome

TIMEOUT_S = 15


class HttpWebhook:
    """Posts title, link and kind of a request as JSON."""

    def __init__(self, address: str) -> None:
        self._address = address

    def post(self, message: Notification) -> Outcome:
        """Post a message; redirects are not followed."""
        body = {"title": message.title, "path": message.path, "kind": message.kind}
        try:
            request = urllib.request.Request(  # noqa: S310 - the user's own address, checked below
                self._address,
                json.dumps(body).encode(),
                {"content-type": "application/json", "idempotency-key": message.topic},
            )
            if request.type not in ("http", "https"):
                return Outcome("failed", 0, "The address of the webhook is not http or https.")
            with _OPENER.open(request, timeout=TIMEOUT_S) as answer:
                return Outcome("delivered", int(answer.status))
        except urllib.error.HTTPError as problem:
            return Outcome("failed", problem.code)
        except (OSError, ValueError, HTTPException) as problem:
            return Outcome("failed", 0, type(problem).__name__)


_OPENER = urllib.request.OpenerDirector()  # which follows no redirects and reads no files
for _handler in (
    urllib.request.HTTPHandler(),
    urllib.request.HTTPSHandler(),
    urllib.request.HTTPErrorProcessor(),
    urllib.request.HTTPDefaultErrorHandler(),
):
    _OPENER.add_handler(_handler)


class SmtpMailer:
    """Sends plain text by the configured mail server."""

    def __init__(
        self, settings: NotificationSettings, trusted: ssl.SSLContext | None = None
    ) -> None:
        """`trusted`: other certificates than those of the system."""
        self._settings, self._trusted = settings, trusted

    def send(self, subject: str, text: str) -> Outcome:
        """Send one message."""
        settings = self._settings
        host, _, port = settings.email_server.partition(":")
        try:
            mail = _mail(settings, subject, text)
            with smtplib.SMTP(host, int(port or 25), timeout=TIMEOUT_S) as server:
                if settings.email_tls:
                    server.starttls(context=self._trusted or ssl.create_default_context())
                if settings.email_user:
                    server.login(settings.email_user, settings.email_password_key)
                server.send_message(mail)
        except smtplib.SMTPResponseException as problem:  # what the server said may quote a secret
            return Outcome("failed", problem.smtp_code, type(problem).__name__)
        except (OSError, ValueError, smtplib.SMTPException) as problem:
            return Outcome("failed", 0, type(problem).__name__)
        return Outcome("delivered")


def _mail(settings: NotificationSettings, subject: str, text: str) -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = subject, settings.email_from, settings.email_to
    mail.set_content(text)
    return mail
