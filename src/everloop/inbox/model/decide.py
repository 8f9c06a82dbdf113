"""Decisions of the inbox: pure functions of one request.

Only the user answers, and only once: of two devices the first one counts, and the second is told.
Text in a chat is no answer.
"""

from collections.abc import Iterable, Sequence

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.inbox.model.commands import (
    AnswerRequest,
    ExpireRequest,
    RaiseRequest,
    ReadRequest,
    SnoozeRequest,
    WithdrawRequest,
)
from everloop.inbox.model.events import (
    Choice,
    Question,
    QuestionAnswer,
    RequestAnswered,
    RequestExpired,
    RequestRaised,
    RequestRead,
    RequestSnoozed,
    RequestWithdrawn,
)
from everloop.inbox.model.kinds import PRIORITIES, USUAL_PRIORITY
from everloop.inbox.model.state import InboxRequest
from everloop.inbox.model.visible_text import (
    choices_written_out,
    digest_of,
    questions_written_out,
    written_out,
)
from everloop.log import DecisionContext, Draft, Event
from everloop.log.model.record import from_microseconds, to_microseconds

OWNER, ENGINE = "user", "engine"
TITLE_MAX = 300
BODY_MAX = 131_072  # characters
QUESTIONS_MAX = 20
CHOICES_MAX = 20
ANSWER = "answer"  # the choice that sends a form


def raise_request(
    known: InboxRequest | None, command: RaiseRequest, asking: DecisionContext
) -> list[Draft]:
    """Raise a request. Raising the same one again changes nothing."""
    new = _raised(command, asking)
    if known is None:
        _check(new)
        return [Draft(new, command.because)]
    if known.raised.digest != new.digest:
        raise Conflict(
            f"request {command.request_id!r} was raised before, and asks something else",
            hint="Use a new request id.",
        )
    return []


def answer_request(
    known: InboxRequest | None, command: AnswerRequest, asking: DecisionContext
) -> list[Draft]:
    """Answer an open request with one of its choices."""
    request = _answerable(known, command, asking)
    _require_open(request)
    if command.digest != request.raised.digest:
        raise Conflict(
            f"request {command.request_id!r} asks something else than what was shown",
            hint="Open it again, read it, and answer then.",
        )
    chosen = _choice(request.raised, command)
    if command.choice == ANSWER:
        _check_answers(request.raised.questions, command.answers)
    elif command.answers:
        raise Invalid(f"{command.choice!r} takes no answers", hint=f"Choose {ANSWER!r}.")
    if chosen.needs_text and not command.text.strip():
        raise Invalid(f"{chosen.label!r} needs a text", hint="Write what should be different.")
    receipt = RequestAnswered(
        command.request_id,
        command.choice,
        command.answers,
        command.text,
        command.digest,
        command.device,
    )
    return [Draft(receipt, (request.position, *command.because))]


def expire_request(
    known: InboxRequest | None, command: ExpireRequest, asking: DecisionContext
) -> list[Draft]:
    """Close a request whose time is over; one that was closed before stays as it is."""
    if known is None or known.closing is not None:
        return []
    expires_us = known.raised.expires_us
    if not expires_us or to_microseconds(asking.now) < expires_us:
        return []
    expired = RequestExpired(command.request_id, known.raised.expiry_choice)
    return [Draft(expired, (known.position,))]


def withdraw_request(
    known: InboxRequest | None, command: WithdrawRequest, asking: DecisionContext
) -> list[Draft]:
    """Close a request that is no longer needed; one that was closed before stays as it is."""
    if known is None or known.closing is not None:
        return []
    if asking.by.actor.startswith("agent:"):
        raise Forbidden("an agent cannot withdraw a request", hint="Ask the user to answer it.")
    withdrawn = RequestWithdrawn(command.request_id, written_out(command.reason))
    return [Draft(withdrawn, (known.position, *command.because))]


def snooze_request(
    known: InboxRequest | None, command: SnoozeRequest, asking: DecisionContext
) -> list[Event]:
    """Put an open request off. Its expiry stays."""
    request = _owned(known, command.request_id, asking)
    _require_open(request)
    if command.until_us and command.until_us <= to_microseconds(asking.now):
        raise Invalid("that time has passed", hint="Choose a later one.")
    if command.until_us == request.snoozed_until_us:
        return []
    return [RequestSnoozed(command.request_id, command.until_us)]


def read_request(
    known: InboxRequest | None, command: ReadRequest, asking: DecisionContext
) -> list[Event]:
    """Mark a request as read. Idempotent."""
    request = _owned(known, command.request_id, asking)
    return [] if request.read else [RequestRead(command.request_id)]


def describe_closing(request: InboxRequest) -> str:
    """How a request was closed, in words; empty if it is open."""
    closing = request.closing
    if closing is None:
        return ""
    labels = {one.value: one.label for one in request.raised.choices}
    what = f" with {labels.get(closing.choice, closing.choice)!r}" if closing.choice else ""
    where = f" on {closing.device}" if closing.device else ""
    at = from_microseconds(closing.at_us)
    return f"{closing.outcome}{what} by {closing.actor}{where} at {at:%Y-%m-%d %H:%M:%S} UTC"


def _raised(command: RaiseRequest, asking: DecisionContext) -> RequestRaised:
    choices = choices_written_out(command.choices)
    questions = questions_written_out(command.questions)
    title = written_out(" ".join(command.title.split()))[:TITLE_MAX]
    body = written_out(command.body)
    lives_us = command.lives_s * 1_000_000
    return RequestRaised(
        command.request_id,
        command.kind,
        command.priority or USUAL_PRIORITY.get(command.kind, ""),
        title,
        body,
        choices,
        questions,
        command.subject,
        to_microseconds(asking.now) + lives_us if lives_us else 0,
        command.expiry_choice,
        digest_of(command.kind, (title, body, command.subject), choices, questions),
    )


def _check(new: RequestRaised) -> None:
    if new.kind not in USUAL_PRIORITY:
        raise Invalid(f"{new.kind!r} is not a kind of request", hint=_listed(USUAL_PRIORITY))
    if new.priority not in PRIORITIES:
        raise Invalid(f"{new.priority!r} is not a priority", hint=_listed(PRIORITIES))
    if not new.title:
        raise Invalid("a request needs a title", hint="Say in one line what is asked.")
    if len(new.body) > BODY_MAX:  # never cut: a person approves all of it, or nothing
        raise Invalid(
            f"the request has {len(new.body):,} characters; the limit is {BODY_MAX:,}",
            hint="Ask in smaller parts.",
        )
    if len(new.questions) > QUESTIONS_MAX or not 1 <= len(new.choices) <= CHOICES_MAX:
        raise Invalid(
            f"a request has 1 to {CHOICES_MAX} choices and at most {QUESTIONS_MAX} questions",
            hint="Ask in smaller parts.",
        )
    values = [one.value for one in new.choices]
    if new.questions and ANSWER not in values:
        raise Invalid(f"a form needs the choice {ANSWER!r}", hint="Add it.")
    if new.expires_us and new.expiry_choice not in values:
        raise Invalid(
            "a request that expires says which choice counts then",
            hint=_listed(values),
        )


def _owned(known: InboxRequest | None, request_id: str, asking: DecisionContext) -> InboxRequest:
    if asking.by.actor != OWNER:
        raise Forbidden(
            "only the user answers what is in the inbox",
            hint="Answer at a terminal, or in the web pages.",
        )
    if known is None:
        raise NotFound(f"no request {request_id!r}", hint="`everloop inbox` lists them.")
    return known


def _answerable(
    known: InboxRequest | None, command: AnswerRequest, asking: DecisionContext
) -> InboxRequest:
    """The request, if it may be answered: by the user, or by a rule of theirs that says why."""
    if known and asking.by.actor == ENGINE and command.by_rule and command.because:
        return known
    return _owned(known, command.request_id, asking)


def _require_open(request: InboxRequest) -> None:
    if request.closing is not None:
        raise Conflict(
            f"request {request.raised.request_id!r} was {describe_closing(request)}",
            hint="The first answer counts; nothing was changed.",
        )


def _choice(raised: RequestRaised, command: AnswerRequest) -> Choice:
    for one in raised.choices:
        if one.value == command.choice:
            return one
    raise Invalid(
        f"{command.choice!r} is not a choice of request {command.request_id!r}",
        hint=_listed([one.value for one in raised.choices]),
    )


def _check_answers(questions: Sequence[Question], answers: Sequence[QuestionAnswer]) -> None:
    given = {one.question_id: one for one in answers}
    unknown = given.keys() - {one.question_id for one in questions}
    if unknown or len(given) != len(answers):
        raise Invalid("an answer belongs to no question, or to one twice", hint="Answer each once.")
    for question in questions:
        _check_answer(question, given.get(question.question_id, QuestionAnswer("")))


def _check_answer(question: Question, given: QuestionAnswer) -> None:
    allowed = [one.value for one in question.options]
    if not (given.values or given.text.strip()):
        raise Invalid(f"{question.text!r} is not answered", hint="Choose an option or write one.")
    if not set(given.values) <= set(allowed):
        raise Invalid(f"{question.text!r} has no such option", hint=_listed(allowed))
    if len(given.values) > 1 and not question.multiple:
        raise Invalid(f"{question.text!r} takes one option", hint="Choose one.")


def _listed(values: Iterable[str]) -> str:
    return f"Use {', '.join(values)}."
