"""Decisions of the inbox, given earlier facts."""

from datetime import timedelta

import msgspec
import pytest

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.inbox.model import decide
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
from everloop.inbox.model.state import REQUEST
from everloop.log import Event
from everloop.log.model.record import to_microseconds
from everloop.testing.deterministic import NEW_YEAR, given

YES, NO = Choice("approve", "Approve"), Choice("deny", "Deny")
REVISE = Choice("revise", "Ask for changes", needs_text=True)
APPROVAL = RaiseRequest(
    "req-1",
    "approval",
    "Run a command",
    "rm -r build",
    (YES, NO, REVISE),
    subject="task:t1",
    lives_s=60,
    expiry_choice="deny",
)
COLOURS = Question(
    "q1", "Colour", "Which colours?", (Choice("red", "Red"), Choice("blue", "Blue")), multiple=True
)
NAME = Question("q2", "Name", "Which name?")
FORM = RaiseRequest(
    "req-1", "question", "Two questions", "", (Choice("answer", "Send"),), (COLOURS, NAME)
)


def raised(command: RaiseRequest = APPROVAL) -> RequestRaised:
    """The event that a command leads to."""
    (happened,) = given(REQUEST).when(decide.raise_request, command, actor="worker:t1")
    assert isinstance(happened, RequestRaised)
    return happened


def answer(choice: str = "approve", *, digest: str = "", **rest: object) -> AnswerRequest:
    """An answer to what was shown."""
    said = AnswerRequest("req-1", choice, digest or raised().digest)
    return msgspec.structs.replace(said, **rest)


def test_a_request_gets_the_usual_priority_of_its_kind_and_a_time_to_expire() -> None:
    happened = raised()
    assert happened.priority == "high"
    assert happened.expires_us == to_microseconds(NEW_YEAR + timedelta(seconds=60))


def test_raising_the_same_request_again_changes_nothing() -> None:
    assert given(REQUEST, raised()).when(decide.raise_request, APPROVAL) == []


def test_a_request_id_stands_for_one_text() -> None:
    other = msgspec.structs.replace(APPROVAL, body="rm -r /")
    with pytest.raises(Conflict, match="asks something else"):
        given(REQUEST, raised()).when(decide.raise_request, other)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "chat"},
        {"priority": "sometime"},
        {"title": "  "},
        {"body": "x" * 131_073},
        {"choices": ()},
        {"questions": (NAME,)},
        {"expiry_choice": "maybe"},
    ],
    ids=["kind", "priority", "title", "body", "no choice", "form without answer", "expiry"],
)
def test_a_malformed_request_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        given(REQUEST).when(decide.raise_request, msgspec.structs.replace(APPROVAL, **change))


@pytest.mark.promise("P-INBOX-3")
@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\u2066", "\x1b", "\u3164", "\u2028"])
def test_no_invisible_character_reaches_the_text_that_a_person_approves(hidden: str) -> None:
    shown = raised(msgspec.structs.replace(APPROVAL, body=f"echo {hidden}safe")).body
    assert shown == f"echo \\u{{{ord(hidden):04x}}}safe"


@pytest.mark.promise("P-INBOX-3")
def test_a_long_text_is_shown_whole_and_each_character_counts_in_its_digest() -> None:
    long = raised(msgspec.structs.replace(APPROVAL, body="a" * 20_000))
    other = raised(msgspec.structs.replace(APPROVAL, body="a" * 19_999 + "b"))
    assert len(long.body) == 20_000
    assert long.digest != other.digest


def test_the_user_answers_with_a_choice() -> None:
    happened = given(REQUEST, raised()).when(decide.answer_request, answer(device="phone"))
    assert happened == [RequestAnswered("req-1", "approve", (), "", raised().digest, "phone")]


@pytest.mark.promise("P-INBOX-2")
@pytest.mark.parametrize("actor", ["agent:thread", "worker:t1", "engine", "agent:cli"])
def test_nobody_but_the_user_answers(actor: str) -> None:
    with pytest.raises(Forbidden, match="only the user"):
        given(REQUEST, raised()).when(decide.answer_request, answer(), actor=actor)


@pytest.mark.promise("P-INBOX-1")
@pytest.mark.promise("P-GITHUB-5")
def test_the_engine_answers_only_by_a_rule_of_the_user_that_names_its_source() -> None:
    by_rule = answer(by_rule="github.comment_answers", because=(7,))
    (receipt,) = given(REQUEST, raised()).when(decide.answer_request, by_rule, actor="engine")
    assert isinstance(receipt, RequestAnswered)
    for command, actor in (
        (answer(by_rule="github.comment_answers"), "engine"),
        (answer(because=(7,)), "engine"),
        (by_rule, "agent:x"),
        (by_rule, "worker:t1"),
    ):
        with pytest.raises(Forbidden):
            given(REQUEST, raised()).when(decide.answer_request, command, actor=actor)


def test_the_second_answer_is_told_who_answered_first() -> None:
    first = RequestAnswered("req-1", "deny", (), "", raised().digest, "phone")
    with pytest.raises(Conflict, match="answered with 'Deny' by user on phone at 2026-01-01"):
        given(REQUEST, raised(), first).when(decide.answer_request, answer())


@pytest.mark.promise("P-INBOX-3")
def test_an_answer_to_another_text_than_the_one_recorded_is_refused() -> None:
    with pytest.raises(Conflict, match="something else than what was shown"):
        given(REQUEST, raised()).when(decide.answer_request, answer(digest="00"))


def test_an_unknown_request_cannot_be_answered() -> None:
    with pytest.raises(NotFound):
        given(REQUEST).when(decide.answer_request, answer())


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (answer("maybe"), "not a choice"),
        (answer("revise"), "needs a text"),
        (answer(answers=(QuestionAnswer("q1", ("red",)),)), "takes no answers"),
    ],
)
def test_an_answer_must_fit_the_choices(said: AnswerRequest, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        given(REQUEST, raised()).when(decide.answer_request, said)


def form_answer(*answers: QuestionAnswer) -> AnswerRequest:
    """A filled-in form."""
    return AnswerRequest("req-1", "answer", raised(FORM).digest, answers)


def test_a_form_takes_several_options_and_free_text() -> None:
    filled = (QuestionAnswer("q1", ("red", "blue")), QuestionAnswer("q2", (), "Ada"))
    happened = given(REQUEST, raised(FORM)).when(decide.answer_request, form_answer(*filled))
    assert isinstance(happened[0], RequestAnswered)
    assert happened[0].answers == filled


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ((QuestionAnswer("q1", ("red",)),), "not answered"),
        ((QuestionAnswer("q1", ("green",)), QuestionAnswer("q2", (), "Ada")), "no such option"),
        ((QuestionAnswer("q9", (), "x"),), "no question"),
    ],
)
def test_a_form_must_be_complete(answers: tuple[QuestionAnswer, ...], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        given(REQUEST, raised(FORM)).when(decide.answer_request, form_answer(*answers))


def test_a_single_choice_question_takes_one_option() -> None:
    single = msgspec.structs.replace(COLOURS, multiple=False)
    form = msgspec.structs.replace(FORM, questions=(single,))
    said = AnswerRequest(
        "req-1", "answer", raised(form).digest, (QuestionAnswer("q1", ("red", "blue")),)
    )
    with pytest.raises(Invalid, match="takes one option"):
        given(REQUEST, raised(form)).when(decide.answer_request, said)


@pytest.mark.promise("P-INBOX-4")
def test_a_request_expires_into_its_expiry_choice_when_its_time_is_over() -> None:
    later = msgspec.structs.replace(raised(), expires_us=to_microseconds(NEW_YEAR))
    happened = given(REQUEST, later).when(
        decide.expire_request, ExpireRequest("req-1"), actor="engine"
    )
    assert happened == [RequestExpired("req-1", "deny")]


ANSWERED = RequestAnswered("req-1", "approve", (), "", "d", "")


@pytest.mark.parametrize(
    "facts",
    [(), (raised(),), (raised(), ANSWERED)],
    ids=["unknown", "too early", "answered"],
)
def test_nothing_else_expires(facts: tuple[Event, ...]) -> None:
    assert given(REQUEST, *facts).when(decide.expire_request, ExpireRequest("req-1")) == []


@pytest.mark.promise("P-INBOX-4")
def test_an_answer_after_the_expiry_is_refused_with_that_receipt() -> None:
    expired = RequestExpired("req-1", "deny")
    with pytest.raises(Conflict, match="expired with 'Deny' by engine"):
        given(REQUEST, raised(), expired, actor="engine").when(decide.answer_request, answer())


def test_a_producer_withdraws_an_open_request_only() -> None:
    command = WithdrawRequest("req-1", "the task was cancelled")
    happened = given(REQUEST, raised()).when(decide.withdraw_request, command, actor="engine")
    assert happened == [RequestWithdrawn("req-1", "the task was cancelled")]
    assert given(REQUEST, raised(), *happened).when(decide.withdraw_request, command) == []


def test_an_agent_withdraws_nothing() -> None:
    with pytest.raises(Forbidden):
        given(REQUEST, raised()).when(
            decide.withdraw_request, WithdrawRequest("req-1", ""), actor="agent:x"
        )


def test_a_request_is_snoozed_until_a_later_time() -> None:
    until_us = to_microseconds(NEW_YEAR + timedelta(hours=1))
    command = SnoozeRequest("req-1", until_us)
    happened = given(REQUEST, raised()).when(decide.snooze_request, command)
    assert happened == [RequestSnoozed("req-1", until_us)]
    assert given(REQUEST, raised(), *happened).when(decide.snooze_request, command) == []
    with pytest.raises(Invalid, match="has passed"):
        given(REQUEST, raised()).when(decide.snooze_request, SnoozeRequest("req-1", 1))


def test_reading_is_recorded_once() -> None:
    happened = given(REQUEST, raised()).when(decide.read_request, ReadRequest("req-1"))
    assert happened == [RequestRead("req-1")]
    assert given(REQUEST, raised(), *happened).when(decide.read_request, ReadRequest("req-1")) == []
