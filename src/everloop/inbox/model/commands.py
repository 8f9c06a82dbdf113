"""Commands of the inbox."""

from everloop.inbox.model.events import Choice, Question, QuestionAnswer
from everloop.log import Command


class RaiseRequest(Command, frozen=True):
    """Ask for a person. Raising the same request again changes nothing.

    An empty priority means the usual one of the kind. `lives_s` 0: it does not expire.
    """

    request_id: str
    kind: str
    title: str
    body: str = ""
    choices: tuple[Choice, ...] = ()
    questions: tuple[Question, ...] = ()
    subject: str = ""
    priority: str = ""
    lives_s: int = 0
    expiry_choice: str = ""
    because: tuple[int, ...] = ()


class AnswerRequest(Command, frozen=True):
    """Answer a request. `digest` is that of what was shown.

    `by_rule`: the engine answers by this setting of the user; `because` is their word for it.
    """

    request_id: str
    choice: str
    digest: str
    answers: tuple[QuestionAnswer, ...] = ()
    text: str = ""
    device: str = ""
    by_rule: str = ""
    because: tuple[int, ...] = ()


class ExpireRequest(Command, frozen=True):
    """Close a request whose time is over."""

    request_id: str


class WithdrawRequest(Command, frozen=True):
    """Close a request that its producer no longer needs."""

    request_id: str
    reason: str
    because: tuple[int, ...] = ()


class SnoozeRequest(Command, frozen=True):
    """Put a request off until a time. 0 ends it."""

    request_id: str
    until_us: int


class ReadRequest(Command, frozen=True):
    """Mark a request as read."""

    request_id: str
