"""The task that calls the user: about requests of the inbox that they want to be called about.

What still has to be called about is asked of the log: an open request without a call. Each gets one
call. A call that was begun by a process that died may have been placed: it is left uncertain.
A call that was open when its process died is ended once it must be over.
"""

from everloop.background.task import BackgroundTask
from everloop.inbox import InboxService, RequestView
from everloop.log import Log
from everloop.log.ownership import Claim
from everloop.ports import Clock
from everloop.voice.service import ENGINE, VoiceService
from everloop.voice.settings import VoiceSettings

LOOK_EVERY_S = 0.5
LOOKS_PER_SWEEP = 120  # so often, calls of processes that died are looked for
FRESH_S = 3_600  # about what is older, nobody wants to be called
DONE_KINDS = ("finished", "review", "failure", "uncertain")  # how something ends


class CallTask(BackgroundTask):
    """Places the calls that are due, as long as this process runs."""

    def __init__(
        self,
        log: Log,
        inbox: InboxService,
        service: VoiceService,
        clock: Clock,
        settings: VoiceSettings,
    ) -> None:
        super().__init__(log, "telephone", self._work, claim="voice.caller")
        self._inbox, self._service, self._clock = inbox, service, clock
        self._settings = settings
        self._settled: set[str] = set()  # requests that need no further look
        self._head = -1
        self._again = False  # whether a call waits for its next attempt

    def tick(self) -> None:
        """Place every call that is due."""
        self._again = False
        seen = self._inbox.overview()
        wanted = self._service.callbacks()
        for request in (*seen.needs_you, *seen.failed, *seen.finished):
            if request.request_id in self._settled or not self._is_fresh(request):
                continue
            if request.group in self._settings.groups or _is_awaited(request, wanted):
                self._call(request, wanted)

    def _call(self, request: RequestView, wanted: dict[str, int]) -> None:
        call = self._service.call_about(request)
        if self._service.can_be_tried_again(call):
            self._again = True
            return
        self._settled.add(request.request_id)
        if _is_awaited(request, wanted):
            self._service.cancel_callback(request.subject, ENGINE)

    def _work(self, claim: Claim) -> None:
        self._service.settle_interrupted()
        looks = 0
        while claim.held and not self.over:
            if looks % LOOKS_PER_SWEEP == 0:
                self._service.end_abandoned()
            looks += 1
            if self._log.head != self._head or self._again:
                self._head = self._log.head
                self.tick()
            self.stopping.wait(LOOK_EVERY_S)

    def _is_fresh(self, request: RequestView) -> bool:
        age_s = self._clock.now().timestamp() - request.raised_at.timestamp()
        return age_s < FRESH_S


def _is_awaited(request: RequestView, wanted: dict[str, int]) -> bool:
    """Whether the user asked to be called when this is done, before it was."""
    at = wanted.get(request.subject)
    return at is not None and at < request.position and request.kind in DONE_KINDS
