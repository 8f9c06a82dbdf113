"""The notification task: sends what was raised and not yet announced, and the digest.

What still has to be sent is asked of the log: an open request that no delivery is recorded for. A
message that a service could not take is tried again with growing pauses, a few times.
"""

from everloop.background.task import BackgroundTask
from everloop.inbox import InboxOverview, InboxService, RequestView
from everloop.log import Log
from everloop.log.ownership import Claim
from everloop.notifications.ports import Mailer, Outcome
from everloop.notifications.service import EMAIL, NotificationService
from everloop.notifications.settings import NotificationSettings
from everloop.ports import Clock

LOOK_EVERY_S = 0.5
PAUSE_FIRST_S = 5
FRESH_S = 3_600  # after a longer outage, the page tells what is new
TRIED_AGAIN = ("limited", "failed")


class NotificationTask(BackgroundTask):
    """Announces new requests, as long as this process runs."""

    def __init__(
        self,
        log: Log,
        inbox: InboxService,
        service: NotificationService,
        clock: Clock,
        settings: NotificationSettings,
        mailer: Mailer | None = None,
    ) -> None:
        super().__init__(log, "notifications", self._work, claim="notifications.sender")
        self._inbox, self._service, self._clock = inbox, service, clock
        self._settings, self._mailer = settings, mailer
        self._done: dict[str, dict[str, int]] = {}  # by request: channels that are settled
        self._tries: dict[tuple[str, str], int] = {}
        self._next_us: dict[tuple[str, str], int] = {}
        self._head = -1

    def tick(self) -> None:
        """Announce what is new, and send the digest if its time has come."""
        seen = self._inbox.overview()
        for request in (*seen.needs_you, *seen.failed, *seen.finished):
            if self._is_fresh(request):
                self._announce(request)
        if self._mailer is not None:
            self._send_digest(seen, self._mailer)

    def _work(self, claim: Claim) -> None:
        while claim.held and not self.over:
            if self._log.head != self._head or self._next_us or self._mailer is not None:
                self._head = self._log.head
                self.tick()
            self.stopping.wait(LOOK_EVERY_S)

    def _is_fresh(self, request: RequestView) -> bool:
        age_s = self._clock.now().timestamp() - request.raised_at.timestamp()
        return age_s < FRESH_S

    def _announce(self, request: RequestView) -> None:
        """Ask every channel that has not had its say yet, and note which are settled."""
        settled = self._settled(request.request_id)
        now_us = self._clock.now_us()
        name = request.request_id
        waits = {
            channel: 0
            for (one, channel), due_us in self._next_us.items()
            if one == name and due_us > now_us
        }
        for channel, went in self._service.announce(request, {**settled, **waits}).items():
            self._take(name, channel, went, settled)

    def _take(self, name: str, channel: str, went: Outcome, settled: dict[str, int]) -> None:
        key = (name, channel)
        tries = self._tries[key] = self._tries.get(key, 0) + 1
        self._next_us.pop(key, None)
        if went.outcome in TRIED_AGAIN and tries < self._settings.attempts_max:
            pause_s = max(went.retry_after_s, PAUSE_FIRST_S * 2 ** (tries - 1))
            self._next_us[key] = self._clock.now_us() + pause_s * 1_000_000
        else:
            settled[channel] = tries

    def _settled(self, name: str) -> dict[str, int]:
        """The channels that need not be asked; after a restart, from the recorded deliveries."""
        if name not in self._done:
            sent = self._service.state().deliveries
            self._done[name] = {
                channel: 1
                for channel, deliveries in sent.items()
                if any(one.subject == name for one in deliveries)
            }
        return self._done[name]

    def _send_digest(self, seen: InboxOverview, mailer: Mailer) -> None:
        """Mail what waits, if something does that the last digest did not have."""
        waiting = [*seen.needs_you, *seen.failed]
        if not waiting or not self._is_digest_due(str(max(one.position for one in waiting))):
            return
        lines = [f"- {one.title}" for one in waiting]
        one = len(waiting) == 1
        many, wait = (
            (f"{len(waiting)} thing", "waits") if one else (f"{len(waiting)} things", "wait")
        )
        text = f"{many} in your inbox {wait} for you:\n\n" + "\n".join(lines) + "\n"
        went = mailer.send(f"Everloop: {many} {wait} for you", text)
        newest = str(max(one.position for one in waiting))
        self._service.record(EMAIL, newest, "digest", went)

    def _is_digest_due(self, newest: str) -> bool:
        """Whether it is time for a digest; one that was not taken is tried again soon, at first."""
        sent = self._service.deliveries(EMAIL)
        if not sent:
            return True
        tries = next((at for at, one in enumerate(sent) if one.outcome == "delivered"), len(sent))
        passed_s = (self._clock.now_us() - sent[0].at_us) / 1_000_000
        if 0 < tries < self._settings.attempts_max:
            return passed_s >= PAUSE_FIRST_S << (tries - 1)
        return passed_s >= self._settings.email_every_s and (tries > 0 or sent[0].subject != newest)
