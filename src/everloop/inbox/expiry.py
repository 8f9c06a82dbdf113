"""The expiry task: an approval that nobody answers in time is denied, also while nobody looks."""

from everloop.background.task import BackgroundTask
from everloop.inbox.service import InboxService
from everloop.log import Log
from everloop.log.ownership import Claim

LOOK_EVERY_S = 1.0


class RequestExpiryTask(BackgroundTask):
    """Closes requests whose time is over, as long as this process runs."""

    def __init__(self, log: Log, inbox: InboxService) -> None:
        super().__init__(log, "inbox expiry", self._work, claim="inbox.expiry")
        self._inbox = inbox

    def _work(self, claim: Claim) -> None:
        while claim.held and not self.over:
            self._inbox.expire_due()
            self.stopping.wait(LOOK_EVERY_S)
