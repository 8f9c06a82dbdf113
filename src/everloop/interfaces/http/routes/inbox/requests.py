"""Routes for the inbox: what needs a person, and their answers. Each is answered once."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from everloop.access import load_access
from everloop.inbox import AnswerRequest, QuestionAnswer
from everloop.interfaces.http.dependencies import ActorDep, Dependencies, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.request import EMPTY_BODY, Body
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.log import Context, to_microseconds

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["inbox"])


class ChoiceOut(ResponseBody):
    """One answer that a person can give with one tap."""

    value: str
    label: str
    description: str
    needs_text: bool


class QuestionOut(ResponseBody):
    """A question of a form. Without options it is answered by free text."""

    question_id: str
    header: str
    text: str
    options: list[ChoiceOut]
    multiple: bool


class ClosingOut(ResponseBody):
    """The receipt of a closed request. `outcome` is answered, expired or withdrawn."""

    outcome: str
    choice: str
    actor: str
    device: str
    at: datetime
    position: int


class RequestOut(ResponseBody):
    """A request for a person. Send `digest` back with the answer: it stands for what was shown."""

    request_id: str
    kind: str
    group: str
    priority: str
    title: str
    body: str
    choices: list[ChoiceOut]
    questions: list[QuestionOut]
    subject: str
    digest: str
    raised_by: str
    raised_at: datetime
    position: int
    unread: bool
    expires_at: datetime | None
    expiry_choice: str
    snoozed_until: datetime | None
    closing: ClosingOut | None


class InboxOut(ResponseBody):
    """The inbox in its groups, in the order in which they are shown."""

    needs_you: list[RequestOut]
    failed: list[RequestOut]
    finished: list[RequestOut]
    snoozed: list[RequestOut]
    history: list[RequestOut]
    waiting: int
    unread: int


class CountOut(ResponseBody):
    """How many requests wait for the user, and how many were not seen yet."""

    waiting: int
    unread: int


class AnswerIn(BaseModel):
    """The answer to one question of a form."""

    question_id: str = Field(max_length=200)
    values: list[Annotated[str, Field(max_length=2_000)]] = Field(default=[], max_length=50)
    text: str = Field(default="", max_length=20_000)


class AnswerBody(Body):
    """An answer to a request, with the digest of what was shown."""

    choice: str = Field(max_length=200)
    digest: str = Field(max_length=64)
    answers: list[AnswerIn] = Field(default=[], max_length=50)
    text: str = Field(default="", max_length=20_000)


class SnoozeBody(Body):
    """Until when a request is put off. Without a time, it no longer is."""

    until: datetime | None = None


class ReadOut(BaseModel):
    """How many requests were unread."""

    read: int


@router.get("/inbox")
def list_inbox(deps: Deps) -> InboxOut:
    """Everything that waits for the user, in groups."""
    return InboxOut.model_validate(deps.engine.inbox.overview())


@router.get("/inbox/count")
def count_inbox(deps: Deps) -> CountOut:
    """How much waits for the user, for badges."""
    return CountOut.model_validate(deps.engine.inbox.count())


@router.post("/inbox/read")
def mark_all_read(deps: Deps, actor: ActorDep, body: Body = EMPTY_BODY) -> ReadOut:
    """Mark every open request as read."""
    del body
    return ReadOut(read=deps.engine.inbox.mark_all_read(actor))


@router.get("/inbox/{request_id}")
def get_request(request_id: str, deps: Deps) -> RequestOut:
    """One request; once it is closed, with its receipt."""
    return RequestOut.model_validate(deps.engine.inbox.find(request_id))


@router.post("/inbox/{request_id}/answer")
def answer_request(request_id: str, body: AnswerBody, deps: Deps, actor: ActorDep) -> RequestOut:
    """Answer a request. If it was closed before, 409 says by whom, where and how."""
    command = AnswerRequest(
        request_id,
        body.choice,
        body.digest,
        tuple(QuestionAnswer(a.question_id, tuple(a.values), a.text) for a in body.answers),
        body.text,
        _device_name(deps, actor),
    )
    return RequestOut.model_validate(deps.engine.inbox.answer(command, actor, body.request_id))


@router.post("/inbox/{request_id}/snooze")
def snooze_request(request_id: str, body: SnoozeBody, deps: Deps, actor: ActorDep) -> RequestOut:
    """Put a request off until a time. It still expires when its own time is over."""
    until_us = to_microseconds(body.until.astimezone()) if body.until else 0
    return RequestOut.model_validate(deps.engine.inbox.snooze(request_id, until_us, actor))


@router.post("/inbox/{request_id}/read")
def mark_read(request_id: str, deps: Deps, actor: ActorDep, body: Body = EMPTY_BODY) -> RequestOut:
    """Mark a request as read."""
    del body
    return RequestOut.model_validate(deps.engine.inbox.mark_read(request_id, actor))


def _device_name(deps: Dependencies, actor: Context) -> str:
    """The name of the device that sends this request."""
    device = load_access(deps.engine.log).devices.get(actor.session)
    return device.name if device else ""
