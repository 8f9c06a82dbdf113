"""The turn scheduler: every turn that waits is run, one at a time on each branch.

What is to be done is what the log lacks: a turn that was recorded and not sent. One process of all
that have the log open schedules; if it dies, another takes over. A turn that the dead process had
sent is left as uncertain: it may have been answered, and is never sent again by itself. Nor is a
turn that was sent on another branch, of which this one knows nothing.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from everloop.background.health import TaskHealth
from everloop.background.task import BackgroundTask
from everloop.errors import EverloopError
from everloop.log import Fact, Log
from everloop.log.ownership import Claim
from everloop.ports import Clock, Model
from everloop.turns.live import LiveAnswers
from everloop.turns.runner import Turn, TurnRunner
from everloop.turns.settings import TurnSettings


@dataclass(frozen=True, slots=True)
class Effect:
    """What a fact means for turns: which stream to look at, which turn to stop."""

    look: str = ""
    stop: str = ""
    look_everywhere: bool = False  # turns may be gone, and others may wait now


class TurnSource(Protocol):
    """The turns of a domain."""

    @property
    def claim(self) -> str:
        """The name of the claim that the scheduling process holds."""
        ...

    def streams(self) -> Iterable[str]:
        """The streams in which turns may wait."""
        ...

    def current_branch(self, stream_id: str) -> str | None:
        """The branch that a stream is on; None if there is no such stream."""
        ...

    def next_turn(self, stream_id: str, branch: str, running: Callable[[str], bool]) -> Turn | None:
        """The turn to run next. One that was sent before, and not by us now, is ended here."""
        ...

    def is_gone(self, turn: Turn) -> bool:
        """Whether a turn was retracted."""
        ...

    def effect(self, fact: Fact) -> Effect | None:
        """What a fact means for turns; None if nothing."""
        ...


class TurnScheduler:
    """Runs what waits, each turn in a thread. Safe from any thread."""

    def __init__(
        self,
        log: Log,
        source: TurnSource,
        model: Callable[[str], Model],
        clock: Clock,
        limits: TurnSettings | None = None,
        *,
        took_over: Callable[[], object] = bool,
    ) -> None:
        self.live = LiveAnswers()
        self._log, self._source, self._model, self._clock = log, source, model, clock
        self._limits = limits or TurnSettings()
        self._took_over = took_over
        self._runners: dict[str, TurnRunner] = {}
        self._threads: dict[str, threading.Thread] = {}  # one for each branch
        self._lock = threading.Lock()
        self._task = BackgroundTask(log, "turns", self._schedule, claim=source.claim)
        self.leads = self._task.held  # set while this process schedules

    @property
    def problem(self) -> EverloopError | None:
        """What keeps it from scheduling, if anything does."""
        return self._task.problem

    @property
    def _may_begin(self) -> bool:
        return self.leads.is_set() and not self._task.stopping.is_set()

    def health(self) -> TaskHealth:
        """Whether this process schedules, and what keeps it from that."""
        return self._task.health()

    def start(self) -> None:
        """Begin with what waits."""
        self._task.start()

    def stop(self) -> None:
        """Stop the running turns, keep their text, and let another process schedule."""
        self._task.stopping.set()
        with self._lock:
            runners, threads = list(self._runners.values()), list(self._threads.values())
        for runner in runners:
            runner.stop()
        for thread in threads:
            thread.join()
        self._task.stop()

    def set_limits(self, limits: TurnSettings) -> None:
        """Use these limits for every turn that begins from now on."""
        self._limits = limits

    def stop_turn(self, turn_id: str, record: Callable[[str], object]) -> None:
        """End a turn now. `record` is called with the text so far if another process runs it."""
        with self._lock:
            runner = self._runners.get(turn_id)
        if runner is None:
            record(self.live.text(turn_id))
        else:
            runner.stop()

    def _schedule(self, claim: Claim) -> None:
        head = self._log.head
        self._took_over()
        self._look_everywhere()
        for fact in self._log.follow(after=head, stop=self._task.stopping):
            if not claim.held:
                return
            effect = self._source.effect(fact)
            if effect is not None:
                self._apply(effect, fact)

    def _apply(self, effect: Effect, fact: Fact) -> None:
        if effect.stop:
            self._end(effect.stop, fact.branch)  # another process may have asked for it
        if effect.look_everywhere:
            self._end_retracted()
            self._look_everywhere()
        elif effect.look:
            self._look(effect.look)

    def _end(self, turn_id: str, branch: str) -> None:
        with self._lock:
            runner = self._runners.get(turn_id)
        if runner is not None and runner.turn.branch == branch:
            runner.stop()

    def _end_retracted(self) -> None:
        with self._lock:
            runners = list(self._runners.values())
        for runner in runners:
            if self._source.is_gone(runner.turn):
                runner.stop()

    def _look_everywhere(self) -> None:
        for stream_id in self._source.streams():
            self._look(stream_id)

    def _look(self, stream_id: str) -> None:
        """Begin the next turn of the branch that a stream is on, unless one is running there."""
        with self._lock:
            branch = self._source.current_branch(stream_id) if self._may_begin else None
            if branch is None or branch in self._threads:
                return
            turn = self._source.next_turn(stream_id, branch, self._runners.__contains__)
            if turn is not None:
                self._begin(turn)

    def _begin(self, turn: Turn) -> None:
        runner = TurnRunner(turn, self._model, self._clock, self._limits, self.live)
        self._runners[turn.turn_id] = runner
        self._threads[turn.branch] = threading.Thread(
            target=self._run, args=(runner,), name="everloop-turn", daemon=True
        )
        self._threads[turn.branch].start()

    def _run(self, runner: TurnRunner) -> None:
        turn = runner.turn
        try:
            runner.run()
        finally:
            with self._lock:
                self._runners.pop(turn.turn_id, None)
                self._threads.pop(turn.branch, None)
        with suppress(EverloopError):  # the next look finds what is left
            self._look(turn.stream_id)
