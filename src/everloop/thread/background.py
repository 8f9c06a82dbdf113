"""Background tasks of conversations: messages become memory, closed days get summaries.

Summaries that lost a source are made again, and expired notes are demoted. Each task asks the log
what is missing, so there is no queue to lose, and runs in one process of all that have the log
open. None delays a reply.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta

from everloop.background.task import BackgroundTask
from everloop.errors import ModelFailed, Rejected
from everloop.log import CommandBus, Log
from everloop.log.model.facts import BranchStood, Retracted
from everloop.log.model.record import to_microseconds
from everloop.log.ownership import Claim
from everloop.memory.model.events import Revised
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import load_viewer
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.service import MemoryService
from everloop.memory.summaries.compress import Compressor
from everloop.memory.summaries.expiry import retire_expired
from everloop.memory.summaries.extractive import extractive_summariser
from everloop.memory.summaries.jobs import open_consolidations
from everloop.memory.summaries.staleness import StaleWindow, find_stale_windows
from everloop.ports import Clock, Progress
from everloop.thread.model.events import (
    AnswerGiven,
    MessageImported,
    MessageSent,
    TurnFailed,
    TurnLeftUncertain,
    TurnStopped,
)
from everloop.thread.pyramid.summarise import HOST, SummaryPyramid
from everloop.thread.queries import threads as browsing
from everloop.thread.remember_messages import remember_messages

MEMORY_CLAIM = "thread.keeping"
LOOK_EVERY_S = 60.0
SAID = (MessageSent, MessageImported, AnswerGiven, TurnStopped, TurnFailed, TurnLeftUncertain)
MOVED = (BranchStood, Retracted)  # other messages are in sight now
OVERTAKING = (*MOVED, Revised)  # summaries may be lost now, or say what no longer is

RECENT = timedelta(days=3)  # a thread without newer messages has no dialogue that is too long

SummariseExcess = Callable[[str, date], object]


def no_excess(thread_id: str, today: date) -> None:
    """Summarise nothing early: for a thread without a limit on its dialogue."""
    del thread_id, today


class RememberMessagesTask(BackgroundTask):
    """Makes a memory item of every message."""

    def __init__(self, log: Log, bus: CommandBus) -> None:
        super().__init__(log, "memory", self._work, claim=MEMORY_CLAIM)
        self._bus = bus
        self.idle = threading.Event()  # set while every message has its item

    def remember(self, *, after: int = 0) -> int:
        """Make items of the messages after a position; returns up to which position it is done."""
        self.idle.clear()
        stopped = self.stopping.is_set
        upto = remember_messages(self._log, self._bus, after=after, stopped=stopped)
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


class SummariesTask(BackgroundTask):
    """Keeps the summaries of the temporal pyramid up to date."""

    def __init__(
        self,
        log: Log,
        pyramid: SummaryPyramid,
        clock: Clock,
        *,
        excess: SummariseExcess = no_excess,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        super().__init__(log, "summaries", self._work, claim="thread.pyramid")
        self._pyramid, self._clock, self._excess = pyramid, clock, excess
        self._look_every_s = look_every_s

    def _sum_up(self) -> None:
        def note(done: int, total: int) -> None:
            self.progress = (done, total)

        stopped = self.stopping.is_set
        self._sum_up_excess()
        summarise_due_windows(self._log, self._pyramid, self._clock, progress=note, stopped=stopped)
        self.progress = (0, 0)

    def _sum_up_excess(self) -> None:
        """Summarise what of yesterday and today exceeds the dialogue, in threads of these days."""
        today = local_today(self._log, self._clock)
        with self._log.reading() as reader:
            found = browsing.list_threads(reader)
        for thread in found:
            if self.stopping.is_set():
                return
            if self._clock.now() - thread.newest_at < RECENT:
                self._excess(thread.thread_id, today)

    def _work(self, claim: Claim) -> None:
        """Look now and then. While nothing was recorded, a look each hour is enough."""
        seen: tuple[int, str] | None = None
        while claim.held and not self.over:
            now = (self._log.head, f"{self._clock.now():%Y-%m-%d %H}")
            if now != seen:
                self._sum_up()
                seen = now
            self.stopping.wait(self._look_every_s)


class StaleSummariesTask(BackgroundTask):
    """Makes summaries again whose sources changed or were retracted.

    Finishes consolidations that a dead process left half done. The pyramid renews its own.
    """

    def __init__(self, log: Log, bus: CommandBus, keeper: MemoryService) -> None:
        super().__init__(log, "stale summaries", self._work, claim="memory.renewing")
        self._keeper = keeper
        self._compressor = Compressor(
            log, bus, extractive_summariser(), stopped=self.stopping.is_set
        )
        self.idle = threading.Event()  # set while nothing lacks its summary, or can be given one
        self.settled = 0  # up to here, nothing lacked its summary or waited

    def renew(self) -> int:
        """Summarise every window that lost its summary; returns how many were tried."""
        self.idle.clear()
        tried: set[tuple[str, ...]] = set()
        while found := [one for one in self._stale() if one.item_ids not in tried]:
            for stale in found:  # what they come to is what those above are made from
                if self.stopping.is_set():
                    return len(tried)
                tried.add(stale.item_ids)
                with suppress(Rejected, ModelFailed):  # it has become too much for one, say
                    self._compressor.renew(stale, self._found)
        self._finish()
        self.idle.set()
        return len(tried)

    def _work(self, claim: Claim) -> None:
        head = seen = self._log.head
        self.renew()
        for fact in self._log.follow(after=head, stop=self.stopping):
            if not claim.held:
                return
            if isinstance(fact.event, OVERTAKING) and fact.position > seen:
                seen = self._log.head
                self.renew()

    def _finish(self) -> None:
        """Finish consolidations that a dead process left half done."""
        with self._log.reading() as reader:
            left = open_consolidations(reader)
        for asked in left:
            if not self.stopping.is_set():
                with suppress(Rejected, ModelFailed):
                    self._compressor.finish(asked, self._found)

    def _stale(self) -> list[StaleWindow]:
        with self._log.reading() as reader:
            head, who = reader.head(), load_viewer(reader, OWNER)
            found = find_stale_windows(reader, who, since=self.settled, but_by=HOST)
        if not (found.windows or found.waits):
            self.settled = head
        return found.windows

    def _found(self, text: str, number: int) -> list[str]:
        self._keeper.embed_briefly()
        answer = self._keeper.recall(OWNER, SearchQuery(text, limit=number))
        return [hit.item.item_id for hit in answer.hits]


class ExpiryTask(BackgroundTask):
    """Demotes expired notes, once a day."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        clock: Clock,
        quiet_days: int,
        *,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        super().__init__(log, "expiry", self._work, claim="memory.sweeping")
        self._bus, self._clock, self._quiet_days = bus, clock, quiet_days
        self._look_every_s = look_every_s
        self.swept = threading.Event()  # set once it was looked for today

    def _work(self, claim: Claim) -> None:
        seen: date | None = None
        while claim.held and not self.over:
            now = self._clock.now()
            if now.date() != seen:
                retire_expired(self._log, self._bus, now, self._quiet_days)
                seen = now.date()
                self.swept.set()
            self.stopping.wait(self._look_every_s)


def summarise_due_windows(
    log: Log,
    pyramid: SummaryPyramid,
    clock: Clock,
    *,
    progress: Progress | None = None,
    stopped: Callable[[], bool] = bool,
) -> int:
    """Summarise every closed window that lacks its summary; returns how many were tried."""
    with log.reading() as reader:
        threads = [one.thread_id for one in browsing.list_threads(reader, archived=True)]
    tried = 0
    for thread_id in threads:
        while due := pyramid.due_windows(thread_id, local_today(log, clock), clock.now()):
            lowest = [window for window in due if window.tier == due[0].tier]
            for window in lowest:  # what they come to is what the next tier is made from
                if stopped():
                    return tried
                pyramid.summarise(thread_id, window)
                tried += 1
                if progress:
                    progress(tried, tried + len(due) - 1 - lowest.index(window))
        with suppress(Rejected):  # somebody else took one back just now
            pyramid.retract_replaced(thread_id)
    return tried


def local_today(log: Log, clock: Clock) -> date:
    """Today, in the user's time zone."""
    with log.reading() as reader:
        zones = browsing.time_zones(reader)
    return zones.local_date(to_microseconds(clock.now()))
