"""Registry of inbox commands: stream, state and decision of each."""

from typing import Any, Protocol

from everloop.inbox.model import commands as c
from everloop.inbox.model import decide as d
from everloop.inbox.model.state import REQUEST, request_stream
from everloop.log import Decider


class _RequestCommand(Protocol):
    @property
    def request_id(self) -> str: ...


def _stream(command: _RequestCommand) -> str:
    return request_stream(command.request_id)


INBOX_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(c.RaiseRequest, _stream, REQUEST, d.raise_request),
    Decider(c.AnswerRequest, _stream, REQUEST, d.answer_request),
    Decider(c.ExpireRequest, _stream, REQUEST, d.expire_request),
    Decider(c.WithdrawRequest, _stream, REQUEST, d.withdraw_request),
    Decider(c.SnoozeRequest, _stream, REQUEST, d.snooze_request),
    Decider(c.ReadRequest, _stream, REQUEST, d.read_request),
)
