"""The conductor sees to it that every turn that waits is answered, one at a time on each branch.

What is to be done is what the log lacks: a turn that was recorded and not sent. One process of all
that have the log open is the conductor; if it dies, another takes over. A turn that the dead one
had sent is left as uncertain: it may have been answered, and is never sent again by itself. Nor is
a turn that was sent on another branch, of which this one knows nothing.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from everloop.background.health import TaskHealth
from everloop.background.task import BackgroundTask
from everloop.errors import EverloopError
from everloop.log import Command, Fact, Log
from everloop.log.model.facts import BranchStood, Retracted
from everloop.log.ownership import Claim
from everloop.ports import Model
from everloop.thread.model.commands import LeaveUncertain, StopTurn
from everloop.thread.model.events import (
    AnswerGiven,
    TurnFailed,
    TurnLeftUncertain,
    TurnRecorded,
    TurnStopped,
)
from everloop.thread.model.state import (
    CONVERSATION,
    WAITING,
    Conversation,
    Turn,
    stream_of,
    thread_of,
)
from everloop.thread.queries import threads as browsing
from everloop.thread.settings import Answering
from everloop.thread.turns.runner import ENGINE, Answer, Means, Prepared, Toolbox

CLAIM = "thread.conductor"
_SENT = "SELECT 1 FROM thread_turns WHERE turn_id = ? AND phase = 'sending'"

Prepare = Callable[[str, str, str, Toolbox], Prepared]


class Conductor:
    """A thread that sends what waits. Safe from any thread."""

    def __init__(
        self,
        log: Log,
        means: Means,
        prepare: Prepare,
        model: Callable[[], Model],
        *,
        took_over: Callable[[], object] = bool,
    ) -> None:
        self.live = means.live
        self.name = means.ids.new("conductor")
        self._log, self._means, self._prepare, self._model = log, means, prepare, model
        self._took_over = took_over
        self._answers: dict[str, Answer] = {}
        self._threads: dict[str, threading.Thread] = {}  # one for each branch
        self._lock = threading.Lock()
        self._task = BackgroundTask(log, "turns", self._conduct, claim=CLAIM)
        self.conducts = self._task.held  # set while this process is the conductor

    @property
    def problem(self) -> EverloopError | None:
        """What keeps it from conducting, if anything does."""
        return self._task.problem

    @property
    def _may_begin(self) -> bool:
        return self.conducts.is_set() and not self._task.stopping.is_set()

    def health(self) -> TaskHealth:
        """Whether this process answers, and what keeps it from that."""
        return self._task.health()

    def start(self) -> None:
        """Begin with what waits."""
        self._task.start()

    def stop(self) -> None:
        """Stop the answers that come, keep what came of them, and let another conduct."""
        self._task.stopping.set()
        with self._lock:
            answers, threads = list(self._answers.values()), list(self._threads.values())
        for answer in answers:
            answer.stop()
        for thread in threads:
            thread.join()
        self._task.stop()

    def limit(self, limits: Answering) -> None:
        """Let these be the limits of every answer that begins from now on."""
        self._means = replace(self._means, limits=limits)

    def stop_turn(self, thread_id: str, turn_id: str, do: Callable[[StopTurn], object]) -> None:
        """End a turn now. `do` records it, as the one who asks, where no answer comes just now."""
        with self._lock:
            answer = self._answers.get(turn_id)
        if answer is None:  # of one that another process gives, what came here is kept
            do(StopTurn(thread_id, turn_id, self.live.text(turn_id)))
        else:
            answer.stop()

    def _conduct(self, claim: Claim) -> None:
        head = self._log.head
        self._took_over()
        self._look_everywhere()
        for fact in self._log.follow(after=head, stop=self._task.stopping):
            if not claim.held:
                return
            self._heed(fact)

    def _heed(self, fact: Fact) -> None:
        """See what a fact asks for: another turn, a look at another branch, an end."""
        match fact.event:
            case TurnRecorded(thread_id=thread_id):
                self._look(thread_id)
            case TurnStopped(thread_id=thread_id, turn_id=turn_id):
                self._end(turn_id, fact.branch)  # another process may have asked for it
                self._look(thread_id)
            case AnswerGiven() | TurnFailed() | TurnLeftUncertain() as ended:
                self._look(ended.thread_id)
            case BranchStood(branch=branch):
                self._look(thread_of(self._log.branches[branch].root))
            case Retracted():
                self._end_what_is_gone()
                self._look_everywhere()
            case _:
                pass

    def _end(self, turn_id: str, branch: str) -> None:
        with self._lock:
            answer = self._answers.get(turn_id)
        if answer is not None and answer.branch == branch:
            answer.stop()

    def _end_what_is_gone(self) -> None:
        """Stop the answers to what was taken back."""
        with self._lock:
            answers = list(self._answers.values())
        for answer in answers:
            known = self._log.state(CONVERSATION, stream_of(answer.thread_id), branch=answer.branch)
            if known is None or known.turn(answer.turn.turn_id) is None:
                answer.stop()

    def _look_everywhere(self) -> None:
        with self._log.reading() as reader:
            known = browsing.answered(reader)
        for thread_id in known:
            self._look(thread_id)

    def _look(self, thread_id: str) -> None:
        """Begin the next turn of the branch that a thread stands on, unless one is under way."""
        tree = stream_of(thread_id)
        with self._lock:
            if not self._may_begin or tree not in self._log.branches:
                return
            branch = self._log.branches.home_of(tree).name
            if branch not in self._threads:
                turn = self._next(thread_id, branch)
                if turn is not None:
                    self._begin(thread_id, branch, turn)

    def _next(self, thread_id: str, branch: str) -> Turn | None:
        """The turn to send. Of those before it that were sent, and not by us here, none is."""
        known = self._state(thread_id, branch)
        while known is not None and known.turns and (ended := self._ended(thread_id, known)):
            self._means.do(ended, by=ENGINE, branch=branch)
            known = self._state(thread_id, branch)
        return known.next_turn if known is not None else None

    def _ended(self, thread_id: str, known: Conversation) -> Command | None:
        """How the first turn of a branch ends if it was sent before; None if it was not.

        It may have been sent on another branch, after this one had left that.
        """
        first = known.turns[0]
        if first.phase != WAITING:
            return LeaveUncertain(thread_id, first.turn_id)
        if first.turn_id in self._answers or self._was_sent(first.turn_id):
            return StopTurn(thread_id, first.turn_id)
        return None

    def _was_sent(self, turn_id: str) -> bool:
        with self._log.file.reading() as everywhere:
            return bool(everywhere.rows(_SENT, (turn_id,)))

    def _begin(self, thread_id: str, branch: str, turn: Turn) -> None:
        answer = Answer(self._means, self._model, thread_id, turn, branch)
        self._answers[turn.turn_id] = answer
        self._threads[branch] = threading.Thread(
            target=self._run, args=(answer,), name="everloop-answer", daemon=True
        )
        self._threads[branch].start()

    def _run(self, answer: Answer) -> None:
        thread_id, branch, turn_id = answer.thread_id, answer.branch, answer.turn.turn_id
        try:
            answer.run(
                lambda: self._prepare(thread_id, turn_id, branch, self._means.toolbox), self.name
            )
        finally:
            with self._lock:
                self._answers.pop(turn_id, None)
                self._threads.pop(branch, None)
        with suppress(EverloopError):  # whoever looks next finds what is left
            self._look(thread_id)

    def _state(self, thread_id: str, branch: str) -> Conversation | None:
        return self._log.state(CONVERSATION, stream_of(thread_id), branch=branch)
