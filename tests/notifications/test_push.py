"""Push messages: what is sent, how long it is kept, what each answer of the service leads to."""

import stat
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.notifications.fake_push_service import FakePushService, fake_push_service

from everloop.adapters.notifications.web_push import WebPush
from everloop.adapters.notifications.webhook_and_mail import HttpWebhook
from everloop.app import USER, Engine
from everloop.errors import Forbidden, Invalid
from everloop.inbox import Choice, RaiseRequest
from everloop.log import Context
from everloop.memory.settings import MemorySettings
from everloop.notifications import (
    Mailer,
    Notification,
    NotificationService,
    NotificationSettings,
    NotificationTask,
    Outcome,
    Subscribe,
    Subscription,
)
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts

WORKER = Context(actor="worker:t1")
ALL = ("needs_you", "failed", "finished")


class Rig:
    """An engine whose notifications are sent when a test says so."""

    def __init__(self, home: Path, service: FakePushService) -> None:
        self.stage = DeterministicPorts()
        settings = Settings(memory=MemorySettings(embedder="none"))
        self.home, self.fake = home, service
        self.engine = Engine.open(home, settings=settings, ports=self.stage.ports)
        self.signed_out: set[str] = set()
        self.mails: list[tuple[str, str]] = []
        self.restart(NotificationSettings())

    def restart(self, settings: NotificationSettings, *, mailer: Mailer | None = None) -> None:
        """Forget everything that is not in the log."""
        engine, push = self.engine, WebPush(self.home, settings.contact)
        webhook = HttpWebhook(settings.webhook_url) if settings.webhook_url else None
        self.service = NotificationService(
            engine.log,
            engine,
            settings,
            push,
            webhook,
            is_known=lambda device: device not in self.signed_out,
        )
        clock = self.stage.clock
        self.task = NotificationTask(
            engine.log, engine.inbox, self.service, clock, settings, mailer
        )

    def send(self, subject: str, text: str) -> Outcome:
        """Take a mail."""
        self.mails.append((subject, text))
        return Outcome("delivered")

    def subscribe(self, device: str, groups: tuple[str, ...] = ALL) -> None:
        """Subscribe a device as the user."""
        said = Subscribe(device, **self.fake.subscription(f"/{device}"), groups=groups)
        self.service.subscribe(said, USER)

    def ask(self, name: str, kind: str = "approval") -> None:
        """Raise a request as a worker."""
        body = "rm -rf /secret"
        raised = RaiseRequest(name, kind, f"About {name}", body, (Choice("ok", "OK"),))
        self.engine.do(raised, by=WORKER)

    def outcomes(self, device: str) -> list[tuple[str, str, int]]:
        """What is on record for a device, the oldest first."""
        found = self.service.deliveries(device)
        return [(one.subject, one.outcome, one.status) for one in reversed(found)]


@pytest.fixture
def rig(tmp_path: Path) -> Generator[Rig]:
    """An engine and a push service."""
    with fake_push_service() as service:
        one = Rig(tmp_path, service)
        yield one
        one.engine.close()


@pytest.mark.promise("P-INBOX-5")
def test_a_message_has_only_title_and_link_and_is_kept_long_enough(rig: Rig) -> None:
    rig.subscribe("phone")
    rig.ask("r1")
    rig.ask("r2", "finished")
    rig.task.tick()
    (needs, first), (done, _) = rig.fake.got
    assert first == {"title": "About r1", "path": "/inbox?request=r1", "kind": "approval"}
    assert int(needs["ttl"]) >= 3_600
    assert int(done["ttl"]) == 300
    assert needs["authorization"].startswith("vapid ")
    assert (needs["urgency"], done["urgency"]) == ("high", "normal")


def test_the_usual_contact_is_one_that_every_push_service_takes() -> None:
    """Apple answers 403 to a contact at localhost, `.local` or `.invalid`."""
    domain = NotificationSettings().contact.removeprefix("mailto:").partition("@")[2]
    assert "." in domain
    assert not domain.endswith(("localhost", ".local", ".invalid"))


def test_a_push_is_sent_once_also_after_a_restart(rig: Rig) -> None:
    rig.subscribe("phone")
    rig.ask("r1")
    rig.task.tick()
    rig.task.tick()
    rig.restart(NotificationSettings())
    rig.task.tick()
    assert rig.outcomes("phone") == [("r1", "delivered", 201)]


def test_a_push_that_a_crash_sends_again_replaces_the_first(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The crash comes after sending and before recording: nobody knows whether it was sent."""
    rig.subscribe("phone")
    rig.ask("r1")
    send = WebPush.send

    def crash(push: WebPush, to: Subscription, message: Notification) -> Outcome:
        send(push, to, message)
        raise KeyboardInterrupt

    with monkeypatch.context() as crashing:
        crashing.setattr(WebPush, "send", crash)
        with pytest.raises(KeyboardInterrupt):
            rig.task.tick()
    assert rig.outcomes("phone") == []
    rig.restart(NotificationSettings())
    rig.task.tick()
    rig.ask("r2")
    rig.task.tick()
    (first, shown), (second, shown_again), (other, _) = rig.fake.got
    assert first["topic"] == second["topic"] != other["topic"]  # the service keeps the last
    assert len(first["topic"]) == 32
    assert shown["path"] == shown_again["path"]  # the tag, by which the device does
    assert rig.outcomes("phone")[0] == ("r1", "delivered", 201)


@pytest.mark.promise("P-INBOX-5")
def test_a_push_is_not_withheld_because_another_device_has_read_it(rig: Rig) -> None:
    rig.subscribe("phone")
    rig.subscribe("laptop")
    rig.ask("r1")
    rig.engine.inbox.mark_read("r1", USER)
    rig.task.tick()
    assert [rig.outcomes(one) for one in ("phone", "laptop")] == [[("r1", "delivered", 201)]] * 2


def test_each_device_gets_only_the_kinds_it_wants_and_nothing_from_before(rig: Rig) -> None:
    rig.ask("before")
    rig.subscribe("phone", ("needs_you",))
    rig.ask("r1")
    rig.ask("r2", "finished")
    rig.ask("r3", "failure")
    rig.task.tick()
    assert [subject for subject, *_ in rig.outcomes("phone")] == ["r1"]


@pytest.mark.parametrize("status", [404, 410])
def test_a_device_that_is_gone_is_no_longer_told(rig: Rig, status: int) -> None:
    rig.subscribe("phone")
    rig.fake.statuses = [status]
    rig.ask("r1")
    rig.task.tick()
    rig.ask("r2")
    rig.task.tick()
    assert rig.outcomes("phone") == [("r1", "gone", status)]
    assert rig.service.subscription("phone") is None


def test_a_refusal_is_recorded_and_not_repeated(rig: Rig) -> None:
    rig.subscribe("phone")
    rig.fake.statuses = [403]
    rig.ask("r1")
    rig.task.tick()
    rig.stage.clock.tick(minutes=5)
    rig.task.tick()
    assert rig.outcomes("phone") == [("r1", "refused", 403)]
    assert rig.service.subscription("phone") is not None


@pytest.mark.promise("P-INBOX-5")
def test_a_service_that_asks_to_wait_is_asked_again_after_that_time(rig: Rig) -> None:
    rig.subscribe("phone")
    rig.fake.statuses, rig.fake.retry_after = [429, 500], "60"
    rig.ask("r1")
    rig.task.tick()
    rig.stage.clock.tick(seconds=59)
    rig.task.tick()
    assert rig.outcomes("phone") == [("r1", "limited", 429)]
    rig.stage.clock.tick(seconds=2)
    rig.task.tick()
    rig.stage.clock.tick(seconds=120)
    rig.task.tick()
    rig.stage.clock.tick(seconds=120)
    rig.task.tick()
    tried = [("r1", "limited", 429), ("r1", "failed", 500), ("r1", "delivered", 201)]
    assert rig.outcomes("phone") == tried


@pytest.mark.promise("P-INBOX-5")
def test_a_push_that_was_limited_is_sent_after_its_time_by_the_next_process(rig: Rig) -> None:
    rig.subscribe("phone")
    rig.fake.statuses, rig.fake.retry_after = [429], "3600"
    rig.ask("r1")
    rig.task.tick()
    rig.restart(NotificationSettings())
    rig.stage.clock.tick(seconds=3_599)
    rig.task.tick()
    assert rig.outcomes("phone") == [("r1", "limited", 429)]
    rig.stage.clock.tick(seconds=2)
    for _ in range(2):
        rig.restart(NotificationSettings())
        rig.task.tick()
    assert rig.outcomes("phone") == [("r1", "limited", 429), ("r1", "delivered", 201)]


def test_attempts_before_a_restart_count(rig: Rig) -> None:
    rig.subscribe("phone")
    rig.fake.statuses = [500] * 9
    rig.ask("r1")
    for _ in range(6):
        rig.restart(NotificationSettings(attempts_max=3))
        rig.task.tick()
        rig.stage.clock.tick(minutes=2)
    assert rig.outcomes("phone") == [("r1", "failed", 500)] * 3


def test_a_push_is_sent_once_also_if_hundreds_came_after_it(rig: Rig) -> None:
    rig.subscribe("phone")
    for number in range(130):
        rig.ask(f"r{number}")
    rig.task.tick()
    rig.restart(NotificationSettings())
    rig.task.tick()
    assert len(rig.fake.got) == 130


def test_a_device_that_was_signed_out_is_told_nothing(rig: Rig) -> None:
    rig.subscribe("phone")
    rig.signed_out.add("phone")
    rig.ask("r1")
    rig.task.tick()
    assert (rig.fake.got, rig.service.subscription("phone")) == ([], None)


def test_a_test_message_says_how_it_went(rig: Rig) -> None:
    rig.subscribe("phone")
    assert rig.service.send_test("phone").outcome == "delivered"
    assert rig.fake.got[0][1]["path"] == "/inbox"


def test_the_key_is_made_once_and_only_its_owner_can_read_it(rig: Rig) -> None:
    key = rig.service.public_key
    assert WebPush(rig.home, "mailto:a@b.invalid").public_key == key
    assert stat.S_IMODE((rig.home / "push.key").stat().st_mode) == 0o600
    assert len(list(rig.home.glob("push.key*"))) == 1


def test_only_the_user_subscribes_and_only_to_https(rig: Rig) -> None:
    said = Subscribe("phone", **rig.fake.subscription(), groups=ALL)
    with pytest.raises(Forbidden):
        rig.service.subscribe(said, WORKER)
    plain = Subscribe("phone", "http://example.org/x", "key", "secret", ALL)
    with pytest.raises(Invalid, match="https"):
        rig.service.subscribe(plain, USER)


def test_a_webhook_and_a_digest_are_off_until_they_are_set(rig: Rig) -> None:
    rig.ask("r1")
    rig.task.tick()
    assert rig.service.state().deliveries == {}
    address = f"http://127.0.0.1:{rig.fake.port}/hook"
    rig.restart(NotificationSettings(webhook_url=address, email_to="me@example.org"), mailer=rig)
    rig.task.tick()
    rig.task.tick()
    assert [one.subject for one in rig.service.deliveries("webhook")] == ["r1"]
    assert rig.mails == [
        ("Everloop: 1 thing waits for you", "1 thing in your inbox waits for you:\n\n- About r1\n")
    ]
    rig.stage.clock.tick(days=2)
    rig.task.tick()
    rig.ask("r2")
    rig.task.tick()
    assert [subject for subject, _ in rig.mails][1:] == ["Everloop: 2 things wait for you"]
