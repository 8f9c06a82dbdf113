"""Background task: the significance of what was said, once a turn has ended.

The pending work is derived from the log: messages of the last days that have an item in memory and
no rating. A rating is of the item, so that search and pins see it; what a person rated stays.
Imported messages are not rated.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

from everloop.background.task import BackgroundTask
from everloop.errors import Rejected
from everloop.log import CommandBus, Log, Reader, visible
from everloop.log.model.record import to_microseconds
from everloop.log.ownership import Claim
from everloop.memory.model.commands import RateItem
from everloop.memory.model.events import Remembered
from everloop.memory.significance.classifier import Ratings, rate_turn
from everloop.ports import Clock, Model
from everloop.thread.queries import threads
from everloop.thread.remember_messages import HOST
from everloop.thread.turns import ENGINE

CLAIM = "thread.rating"
DAYS = timedelta(days=2)  # how far back a process looks for what another left unrated
FindModel = Callable[[], Model | None]


class _EndedTurn(NamedTuple):
    message_id: str
    answer_id: str


class RateMessagesTask(BackgroundTask):
    """Rates the messages of turns that have ended."""

    def __init__(self, log: Log, bus: CommandBus, clock: Clock, model: FindModel) -> None:
        super().__init__(log, "significance", self._work, claim=CLAIM)
        self._bus, self._clock, self._model = bus, clock, model

    def rate(self) -> int:
        """Rate every ended turn whose messages have no rating; returns how many there were."""
        since = to_microseconds(self._clock.now() - DAYS)
        with self._log.reading() as reader:
            due = [_EndedTurn(*row) for row in reader.rows(_UNRATED, (since,))]
        for turn in due:
            if self.stopping.is_set():
                break
            with suppress(Rejected):  # it was deleted just now, or moved to another branch
                self._rate(turn)
        return len(due)

    def _rate(self, turn: _EndedTurn) -> None:
        with self._log.reading() as reader:
            message, answer = _text(reader, turn.message_id), _text(reader, turn.answer_id)
        ratings: Ratings = rate_turn(self._model(), message, answer)
        self._bus.do(RateItem(turn.message_id, ratings.message), by=ENGINE)
        if turn.answer_id and answer.strip():
            self._bus.do(RateItem(turn.answer_id, ratings.answer), by=ENGINE)

    def _work(self, claim: Claim) -> None:
        head = self._log.head
        self.rate()
        for fact in self._log.follow(after=head, stop=self.stopping):
            if not claim.held:
                return
            if isinstance(fact.event, Remembered) and fact.event.origin.host == HOST:
                self.rate()


def _text(reader: Reader, message_id: str) -> str:
    return threads.find_message(reader, message_id).text if message_id else ""


# The message of a turn that has ended, if it is in memory and has no rating; its answer, if any.
_UNRATED = f"""
SELECT q.message_id, CASE WHEN EXISTS (
    SELECT 1 FROM memory_items a WHERE a.item_id = t.answer_id AND {visible("a")})
    THEN t.answer_id ELSE '' END
FROM thread_turns t
JOIN thread_turns r ON r.turn_id = t.turn_id AND r.phase = 'recorded'
JOIN thread_messages q ON q.message_id = r.message_id AND q.said_at >= ?
JOIN memory_items i ON i.item_id = q.message_id
WHERE t.phase IN ('done', 'stopped', 'failed', 'uncertain')
AND {visible("t")} AND {visible("q")} AND {visible("i")}
AND NOT EXISTS (SELECT 1 FROM memory_marks k
    WHERE k.item = i.position AND k.mark = 'rated' AND {visible("k")})
AND (t.answer_id = '' OR NOT EXISTS (
    SELECT 1 FROM thread_messages m WHERE m.message_id = t.answer_id AND {visible("m")})
    OR EXISTS (SELECT 1 FROM memory_items a WHERE a.item_id = t.answer_id AND {visible("a")}))
ORDER BY t.position
"""  # noqa: S608 - our own conditions
