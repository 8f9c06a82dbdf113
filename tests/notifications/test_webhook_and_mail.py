"""The webhook and the mail server, as they are spoken to; every attempt is on record."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.notifications.fake_push_service import fake_push_service
from tests.notifications.mail_server import PASSWORD, mail_server, make_certificate
from tests.notifications.test_push import Rig

from everloop.adapters.notifications.webhook_and_mail import HttpWebhook, SmtpMailer
from everloop.notifications import Notification, NotificationSettings

MESSAGE = Notification("A question", "/inbox?request=r1", "question")


def mail_settings(port: int, **more: Any) -> NotificationSettings:
    """Settings with a digest by the mail server of the test."""
    return NotificationSettings(
        email_to="you@example.invalid", email_server=f"127.0.0.1:{port}", **more
    )


@pytest.fixture
def rig(tmp_path: Path) -> Generator[Rig]:
    """An engine with one request in its inbox."""
    with fake_push_service() as service:
        one = Rig(tmp_path, service)
        one.ask("r1")
        yield one
        one.engine.close()


def outcomes(rig: Rig, channel: str) -> list[tuple[str, int, str]]:
    """What is on record for a channel, the oldest first."""
    found = reversed(rig.service.deliveries(channel))
    return [(one.outcome, one.status, one.detail) for one in found]


@pytest.mark.promise("P-INBOX-5")
def test_a_digest_that_was_not_taken_is_tried_again_and_each_attempt_is_listed(rig: Rig) -> None:
    with mail_server() as server:
        settings = mail_settings(server.port)
        rig.restart(settings, mailer=SmtpMailer(settings))
        server.answers = ["451 Try again later", "550 Unknown user"]
        rig.task.tick()
        rig.task.tick()  # too early
        rig.stage.clock.tick(seconds=6)
        rig.task.tick()
        rig.stage.clock.tick(seconds=11)
        rig.task.tick()
        rig.stage.clock.tick(days=2)
        rig.task.tick()  # nothing new
    assert outcomes(rig, "email") == [
        ("failed", 451, "SMTPDataError"),
        ("failed", 550, "SMTPDataError"),
        ("delivered", 0, ""),
    ]
    assert len(server.mails) == 1
    assert "Subject: Everloop: 1 thing waits for you" in server.mails[0]
    assert "- About r1" in server.mails[0]


def test_a_digest_that_is_never_taken_is_tried_once_a_day_after_the_first_attempts(
    rig: Rig,
) -> None:
    settings = mail_settings(1)  # nobody listens there
    rig.restart(settings, mailer=SmtpMailer(settings))
    for _ in range(10):
        rig.task.tick()
        rig.stage.clock.tick(minutes=1)
    assert [outcome for outcome, *_ in outcomes(rig, "email")] == ["failed"] * 3
    rig.stage.clock.tick(days=1)
    rig.task.tick()
    assert len(outcomes(rig, "email")) == 4


def test_the_mail_server_is_spoken_to_with_tls_and_a_password(tmp_path: Path) -> None:
    shown, trusted = make_certificate(tmp_path)
    with mail_server(shown, password=True) as server:
        login: dict[str, Any] = {"email_tls": True, "email_user": "me"}
        right = mail_settings(server.port, **login, email_password_key=PASSWORD)
        wrong = mail_settings(server.port, **login, email_password_key="wrong")  # noqa: S106
        plain = mail_settings(server.port)
        assert SmtpMailer(right, trusted).send("Subject", "Text").outcome == "delivered"
        refused = SmtpMailer(wrong, trusted).send("Subject", "Text")
        assert (refused.outcome, refused.status) == ("failed", 535)
        assert (refused.detail, "wrong" in refused.detail) == ("SMTPAuthenticationError", False)
        assert SmtpMailer(plain).send("Subject", "Text").status == 530
        unknown = SmtpMailer(right).send("Subject", "Text")
        assert (unknown.outcome, unknown.detail) == ("failed", "SSLCertVerificationError")
    assert server.secure == [True]


def test_a_server_without_tls_gets_no_mail_that_should_have_it() -> None:
    with mail_server() as server:
        settings = mail_settings(server.port, email_tls=True)
        went = SmtpMailer(settings).send("Subject", "Text")
    assert (went.outcome, went.detail) == ("failed", "SMTPNotSupportedError")
    assert server.mails == []


def test_a_line_break_in_a_subject_adds_no_header() -> None:
    with mail_server() as server:
        went = SmtpMailer(mail_settings(server.port)).send("A\nBcc: you@else.invalid", "Text")
    assert (went.outcome, server.mails) == ("failed", [])


@pytest.mark.parametrize("status", [404, 500, 302])
@pytest.mark.promise("P-INBOX-5")
def test_a_webhook_that_refuses_is_tried_again_and_each_attempt_is_listed(
    rig: Rig, status: int
) -> None:
    rig.fake.statuses = [status]
    address = f"http://127.0.0.1:{rig.fake.port}/hook"
    rig.restart(NotificationSettings(webhook_url=address))
    rig.task.tick()
    rig.stage.clock.tick(seconds=6)
    rig.task.tick()
    rig.stage.clock.tick(minutes=6)
    rig.task.tick()
    assert outcomes(rig, "webhook") == [("failed", status, ""), ("delivered", 201, "")]
    assert rig.fake.got[-1][1] == {
        "title": "About r1",
        "path": "/inbox?request=r1",
        "kind": "approval",
    }


@pytest.mark.parametrize("address", ["file:///etc/hostname", "http://127.0.0.1:1/", "nothing"])
def test_a_webhook_that_cannot_be_reached_is_a_failure_and_no_error(address: str) -> None:
    assert HttpWebhook(address).post(MESSAGE).outcome == "failed"
