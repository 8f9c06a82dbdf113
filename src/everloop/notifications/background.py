"""The notification task: sends what was raised and not yet announced, and the digest.

What still has to be sent is asked of the log: an open request that no delivery is recorded for, or
whose delivery is postponed. Nothing is kept in memory, so a restart changes nothing.
"""

from everloop.background.task import BackgroundTask
from everloop.inbox import InboxOverview, InboxService, RequestView
from everloop.log import Log
from everloop.log.ownership import Claim
from everloop.notifications.model.decide import PAUSE_FIRST_S
from everloop.notifications.ports import Mailer
from everloop.notifications.service import EMAIL, NotificationService
from everloop.notifications.settings import NotificationSettings
from everloop.ports import Clock

LOOK_EVERY_S = 0.5
FRESH_S = 3_600  # after a longer outage, the page tells what is new


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
        self._head = -1
        self._looked_us = 0

    def tick(self) -> None:
        """Announce what is new, and send the digest if its time has come."""
        if self._mailer is None and not self._service.has_channel:
            return
        seen, now_us = self._inbox.overview(), self._clock.now_us()
        postponed = self._postponed()
        for request in (*seen.needs_you, *seen.failed, *seen.finished):
            if self._is_fresh(request) or request.request_id in postponed:
                self._service.announce(request, now_us)
        if self._mailer is not None:
            self._send_digest(seen, self._mailer)

    def _work(self, claim: Claim) -> None:
        while claim.held and not self.over:
            since_us, self._looked_us = self._looked_us, self._clock.now_us()
            due = any(since_us < at <= self._looked_us for at in self._postponed().values())
            if self._log.head != self._head or due or self._mailer is not None:
                self._head = self._log.head
                self.tick()
            self.stopping.wait(LOOK_EVERY_S)

    def _postponed(self) -> dict[str, int]:
        """The requests that some channel is told of again, and when."""
        channels = self._service.state().attempts.values()
        return {name: one.due_us for known in channels for name, one in known.items() if one.due_us}

    def _is_fresh(self, request: RequestView) -> bool:
        age_s = self._clock.now().timestamp() - request.raised_at.timestamp()
        return age_s < FRESH_S

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
