"""Events of the inbox: requests for a person, and what became of them.

A request is closed once: answered by the user, expired by the engine, or withdrawn by its producer.
"""

import msgspec

from everloop.log import Event, event


class Choice(msgspec.Struct, frozen=True):
    """One answer that a person can give with one tap. With `needs_text` they also write a text."""

    value: str
    label: str
    description: str = ""
    needs_text: bool = False


class Question(msgspec.Struct, frozen=True):
    """A question of a form. Without options it is answered by free text."""

    question_id: str
    header: str
    text: str
    options: tuple[Choice, ...] = ()
    multiple: bool = False


class QuestionAnswer(msgspec.Struct, frozen=True):
    """The answer to one question: chosen options, free text, or both."""

    question_id: str
    values: tuple[str, ...] = ()
    text: str = ""


@event("inbox.request_raised")
class RequestRaised(Event, frozen=True):
    """A producer asked for a person.

    `digest` covers exactly what is shown. `subject` names what it is about, such as `task:tsk-1`.
    `expires_us` 0: it does not expire; otherwise `expiry_choice` is what then counts as the answer.
    """

    request_id: str
    kind: str
    priority: str
    title: str
    body: str
    choices: tuple[Choice, ...]
    questions: tuple[Question, ...]
    subject: str
    expires_us: int
    expiry_choice: str
    digest: str


@event("inbox.request_answered")
class RequestAnswered(Event, frozen=True):
    """The user answered: the receipt. `digest` is that of what they saw, `device` where."""

    request_id: str
    choice: str
    answers: tuple[QuestionAnswer, ...]
    text: str
    digest: str
    device: str


@event("inbox.request_expired")
class RequestExpired(Event, frozen=True):
    """Nobody answered in time, so the engine recorded the choice that expiry means."""

    request_id: str
    choice: str


@event("inbox.request_withdrawn")
class RequestWithdrawn(Event, frozen=True):
    """The producer no longer needs an answer, and says why."""

    request_id: str
    reason: str


@event("inbox.request_snoozed")
class RequestSnoozed(Event, frozen=True):
    """The user put a request off until a time. 0: no longer."""

    request_id: str
    until_us: int


@event("inbox.request_read")
class RequestRead(Event, frozen=True):
    """The user has seen a request."""

    request_id: str


InboxEvent = (
    RequestRaised
    | RequestAnswered
    | RequestExpired
    | RequestWithdrawn
    | RequestSnoozed
    | RequestRead
)
