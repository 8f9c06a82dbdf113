"""When this happened, do that: what conversations need in the background.

Messages become memory as they come; closed stretches of the past are summed up; what no longer
holds steps back. Each is found by asking the log what it lacks, by one process of all that have it
open. None holds up a reply.
"""

import threading
from collections.abc import Callable
from datetime import date

from everloop.log import Log
from everloop.log.facts import BranchStood, Retracted
from everloop.log.ownership import Claim
from everloop.log.record import microseconds
from everloop.memory.sweeping import sweep
from everloop.ports import Clock, Progress
from everloop.thread import browsing
from everloop.thread.answering import Do
from everloop.thread.duty import Duty
from everloop.thread.events import (
    AnswerGiven,
    MessageImported,
    MessageSent,
    TurnFailed,
    TurnLeftUncertain,
    TurnStopped,
)
from everloop.thread.importing import DoMany
from everloop.thread.pyramid import Pyramid
from everloop.thread.remembering import remember_messages

CLAIM = "thread.keeping"
LOOK_EVERY_S = 60.0
SAID = (MessageSent, MessageImported, AnswerGiven, TurnStopped, TurnFailed, TurnLeftUncertain)
MOVED = (BranchStood, Retracted)  # other messages are in sight now


class Remembering(Duty):
    """A thread that makes memory of what is said."""

    def __init__(self, log: Log, do_many: DoMany) -> None:
        super().__init__(log, CLAIM, "everloop-remember", self._work)
        self._do_many = do_many
        self.idle = threading.Event()  # set while every message has its item

    def remember(self, *, after: int = 0) -> int:
        """Make memory of what was said after a position; returns up to where that is done."""
        self.idle.clear()
        stopped = self.stopping.is_set
        upto = remember_messages(self._log, self._do_many, after=after, stopped=stopped)
        self.idle.set()
        return upto

    def _work(self, claim: Claim) -> None:
        upto = self.remember()
        for fact in self._log.follow(after=upto, stop=self.stopping):
            if not claim.held:
                return
            if isinstance(fact.event, MOVED):
                upto = self.remember()
            elif isinstance(fact.event, SAID) and fact.position > upto:
                upto = self.remember(after=upto)


class SummingUp(Duty):
    """A thread that keeps the pyramid up to date."""

    def __init__(
        self, log: Log, pyramid: Pyramid, clock: Clock, *, look_every_s: float = LOOK_EVERY_S
    ) -> None:
        super().__init__(log, "thread.pyramid", "everloop-sum-up", self._work)
        self._pyramid, self._clock = pyramid, clock
        self._look_every_s = look_every_s

    def _work(self, claim: Claim) -> None:
        """Look now and then. While nothing was recorded, a look each hour is enough."""
        seen: tuple[int, str] | None = None
        while claim.held and not self.over:
            now = (self._log.head, f"{self._clock.now():%Y-%m-%d %H}")
            if now != seen:
                sum_up(self._log, self._pyramid, self._clock, stopped=self.stopping.is_set)
                seen = now
            self.stopping.wait(self._look_every_s)


class Sweeping(Duty):
    """A thread that lets step back what no longer holds, once a day."""

    def __init__(
        self, log: Log, do: Do, clock: Clock, quiet_days: int, *, look_every_s: float = LOOK_EVERY_S
    ) -> None:
        super().__init__(log, "memory.sweeping", "everloop-sweep", self._work)
        self._do, self._clock, self._quiet_days = do, clock, quiet_days
        self._look_every_s = look_every_s
        self.swept = threading.Event()  # set once it was looked for today

    def _work(self, claim: Claim) -> None:
        seen: date | None = None
        while claim.held and not self.over:
            now = self._clock.now()
            if now.date() != seen:
                sweep(self._log, self._do, now, self._quiet_days)
                seen = now.date()
                self.swept.set()
            self.stopping.wait(self._look_every_s)


def sum_up(
    log: Log,
    pyramid: Pyramid,
    clock: Clock,
    *,
    progress: Progress | None = None,
    stopped: Callable[[], bool] = bool,
) -> int:
    """Sum up every closed window that lacks its summary; returns how many were tried."""
    with log.reading() as reader:
        threads = [one.thread_id for one in browsing.threads(reader, archived=True)]
    tried = 0
    for thread_id in threads:
        while due := pyramid.due(thread_id, today(log, clock), clock.now()):
            lowest = [window for window in due if window.tier == due[0].tier]
            for window in lowest:  # what they come to is what the next tier is made from
                if stopped():
                    return tried
                pyramid.make(thread_id, window)
                tried += 1
                if progress:
                    progress(tried, tried + len(due) - 1 - lowest.index(window))
    return tried


def today(log: Log, clock: Clock) -> date:
    """The day it is where the person is."""
    with log.reading() as reader:
        zones = browsing.zones(reader)
    return zones.day(microseconds(clock.now()))
