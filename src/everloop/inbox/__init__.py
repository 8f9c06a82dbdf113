"""The inbox: every open request for a person, from any producer, answered once.

Producers raise a request with the command `RaiseRequest` and react to `RequestAnswered` and
`RequestExpired` with a policy. The inbox knows no producer.
"""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.inbox.domain import INBOX
    from everloop.inbox.expiry import RequestExpiryTask
    from everloop.inbox.model.commands import (
        AnswerRequest,
        ExpireRequest,
        RaiseRequest,
        ReadRequest,
        SnoozeRequest,
        WithdrawRequest,
    )
    from everloop.inbox.model.decide import BODY_MAX, QUESTIONS_MAX
    from everloop.inbox.model.events import (
        Choice,
        Question,
        QuestionAnswer,
        RequestAnswered,
        RequestExpired,
        RequestRaised,
        RequestWithdrawn,
    )
    from everloop.inbox.model.kinds import Kind, Priority
    from everloop.inbox.model.visible_text import written_out
    from everloop.inbox.queries import (
        ClosingView,
        InboxOverview,
        RequestView,
        answered_subjects,
        open_requests_about,
    )
    from everloop.inbox.service import InboxService
    from everloop.inbox.settings import InboxSettings

__all__ = [
    "BODY_MAX",
    "INBOX",
    "QUESTIONS_MAX",
    "AnswerRequest",
    "Choice",
    "ClosingView",
    "ExpireRequest",
    "InboxOverview",
    "InboxService",
    "InboxSettings",
    "Kind",
    "Priority",
    "Question",
    "QuestionAnswer",
    "RaiseRequest",
    "ReadRequest",
    "RequestAnswered",
    "RequestExpired",
    "RequestExpiryTask",
    "RequestRaised",
    "RequestView",
    "RequestWithdrawn",
    "SnoozeRequest",
    "WithdrawRequest",
    "answered_subjects",
    "open_requests_about",
    "written_out",
]

__getattr__ = lazy_exports(__name__, __file__)
