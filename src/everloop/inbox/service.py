"""Inbox service, called by every interface: list, answer, snooze, mark as read, expire."""

from everloop.inbox.model.commands import (
    AnswerRequest,
    ExpireRequest,
    ReadRequest,
    SnoozeRequest,
)
from everloop.inbox.model.events import RequestAnswered
from everloop.inbox.queries import (
    InboxCount,
    InboxOverview,
    RequestView,
    due_requests,
    find_request,
    inbox_count,
    inbox_overview,
)
from everloop.inbox.settings import InboxSettings
from everloop.log import CommandBus, Context, Log
from everloop.log.idempotency import IdempotencyRule, IdempotencyRules, execute_once
from everloop.ports import Clock

ENGINE = Context(actor="engine")

INBOX_TRACES: IdempotencyRules = {
    AnswerRequest: IdempotencyRule(
        "answer", (RequestAnswered,), ("request_id", "choice", "digest", "text")
    ),
}


class InboxService:
    """Everything that waits for a person, from every producer."""

    def __init__(self, log: Log, bus: CommandBus, clock: Clock, settings: InboxSettings) -> None:
        self._log, self._bus, self._clock, self._settings = log, bus, clock, settings

    def overview(self) -> InboxOverview:
        """The inbox in its groups."""
        with self._log.reading() as reader:
            return inbox_overview(
                reader,
                self._clock.now_us(),
                finished_s=self._settings.finished_s,
                history_limit=self._settings.history_limit,
            )

    def count(self) -> InboxCount:
        """How many requests wait for a person, and how many were not seen yet."""
        with self._log.reading() as reader:
            return inbox_count(
                reader,
                self._clock.now_us(),
                finished_s=self._settings.finished_s,
                history_limit=self._settings.history_limit,
            )

    def find(self, request_id: str) -> RequestView:
        """One request, open or closed.

        Raises:
            NotFound: there is no such request.
        """
        with self._log.reading() as reader:
            return find_request(reader, request_id)

    def answer(self, command: AnswerRequest, by: Context, idempotency_key: str = "") -> RequestView:
        """Answer a request and return it with its receipt.

        Raises:
            Conflict: it was closed before; the message says by whom, and how.
            Forbidden: the actor is not the user.
        """
        self._expire(command.request_id)
        execute_once(self._bus, command, INBOX_TRACES, by=by, request_id=idempotency_key)
        return self.find(command.request_id)

    def snooze(self, request_id: str, until_us: int, by: Context) -> RequestView:
        """Put a request off until a time; 0 ends it."""
        self._bus.do(SnoozeRequest(request_id, until_us), by=by)
        return self.find(request_id)

    def mark_read(self, request_id: str, by: Context) -> RequestView:
        """Mark a request as read."""
        self._bus.do(ReadRequest(request_id), by=by)
        return self.find(request_id)

    def mark_all_read(self, by: Context) -> int:
        """Mark every open request as read, and return how many were not."""
        seen = self.overview()
        shown = (*seen.needs_you, *seen.failed, *seen.finished, *seen.snoozed)
        unread = [ReadRequest(one.request_id) for one in shown if one.unread]
        self._bus.do_many(unread, by=by)
        return len(unread)

    def expire_due(self) -> int:
        """Close every request whose time is over, as the engine; returns how many there were."""
        with self._log.reading() as reader:
            due = due_requests(reader, self._clock.now_us())
        for request_id in due:
            self._expire(request_id)
        return len(due)

    def _expire(self, request_id: str) -> None:
        self._bus.do(ExpireRequest(request_id), by=ENGINE)
