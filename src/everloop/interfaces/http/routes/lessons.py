"""Routes for lessons: listing, gate checks, and the user's decisions and feedback."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from everloop.interfaces.http.dependencies import ActorDep, Dependencies, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.request import EMPTY_BODY, Body
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.lessons import (
    DiscardLesson,
    EditLesson,
    GateResult,
    GiveFeedback,
    MemoryEvidence,
    Narrative,
    ProposeLesson,
    QuoteEvidence,
    SupersedeLesson,
    WithdrawFeedback,
    signal_history,
)
from everloop.memory import OWNER, items_with_ids, load_viewer

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["lessons"])

StatusName = Literal["pending", "active", "promoted", "discarded", "superseded"]


class EvidenceOut(BaseModel):
    """Evidence of a lesson: a memory or a quote."""

    kind: Literal["memory", "quote"]
    item_id: str
    text: str


class LessonOut(ResponseBody):
    """A lesson."""

    position: int
    lesson_id: str
    description: str
    body: str
    digest: str
    status: str
    note: str
    scope: str
    author: str
    actor: str
    target_skill: str
    created_at: datetime
    updated_at: datetime
    uses: int
    last_used_at: datetime | None
    thumbs_up: int
    thumbs_down: int


class LessonsOut(BaseModel):
    """One page of lessons, and the total number."""

    lessons: list[LessonOut]
    total: int


class ViolationOut(ResponseBody):
    """A requirement for promotion that is not met, and what would meet it."""

    code: str
    message: str
    fact: str
    satisfied_by: str


class CheckOut(ResponseBody):
    """One check of the promotion gate, with a title for people.

    `count` and `required` are numbers where the check counts something; the age counts seconds, and
    `ready_at` is when the text will be old enough.
    """

    name: str
    title: str
    fact: str
    passed: bool
    violations: list[ViolationOut]
    count: int | None
    required: int | None
    ready_at: datetime | None


class NarrativeOut(ResponseBody):
    """The reason for a lesson: what triggered it, what failed, what fixed it."""

    trigger: str
    failure_mode: str
    correction: str
    confidence: str


class SignalOut(ResponseBody):
    """A piece of feedback. It counts while `open`, and can then be withdrawn."""

    signal_id: str
    helpful: bool
    channel: str
    actor: str
    relayed: bool
    present: bool
    open: bool
    recorded_at: datetime


class StandingOut(BaseModel):
    """A lesson with its evidence, its feedback and the checks of the promotion gate."""

    lesson: LessonOut
    evidence: list[EvidenceOut]
    narrative: NarrativeOut | None
    signals: list[SignalOut]
    checks: list[CheckOut]


class PromotionOut(ResponseBody):
    """The promotion gate's decision."""

    lesson_id: str
    passed: bool
    status: str
    before: str
    reasons: list[str]
    cited: list[str]


class NewLesson(Body):
    """A lesson to propose."""

    description: Annotated[str, Field(min_length=1, max_length=280)]
    body: Annotated[str, Field(min_length=1, max_length=20_000)]
    scope: Annotated[str, Field(max_length=120)] = "user"
    memories: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    quotes: Annotated[tuple[str, ...], Field(max_length=20)] = ()


class LessonChange(Body):
    """Changes to a lesson's text; absent fields stay as they are."""

    description: Annotated[str | None, Field(min_length=1, max_length=280)] = None
    body: Annotated[str | None, Field(min_length=1, max_length=20_000)] = None


class NarrativeIn(Body):
    """The reason for a lesson: what triggered it, what failed, what fixed it."""

    trigger: Annotated[str, Field(min_length=1, max_length=140)]
    failure_mode: Annotated[str, Field(min_length=1, max_length=200)]
    correction: Annotated[str, Field(min_length=1, max_length=200)]
    confidence: Literal["observed", "inferred", "speculative"]
    memories: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    quotes: Annotated[tuple[str, ...], Field(max_length=20)] = ()


class Feedback(Body):
    """Whether a lesson helped. `text_digest` is the digest of the text that you saw."""

    helpful: bool
    signal_id: Annotated[str, Field(max_length=64)] = ""
    text_digest: Annotated[str, Field(max_length=64)] = ""


class DiscardIn(Body):
    """Why a lesson is discarded. `force` is required if you wrote it yourself."""

    reason: Annotated[str, Field(max_length=500)] = ""
    force: bool = False


class Successor(Body):
    """The lesson that replaces this one."""

    by: Annotated[str, Field(max_length=100)]
    force: bool = False


@router.get("/lessons")
def lessons(
    deps: Deps,
    status: Annotated[list[StatusName], Query()] = [],  # noqa: B006 - FastAPI copies it
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> LessonsOut:
    """List lessons by status; by default all but discarded ones."""
    page = deps.engine.lessons.page(OWNER, tuple(status), limit=limit, offset=offset)
    shown = [LessonOut.model_validate(lesson) for lesson in page.lessons]
    return LessonsOut(lessons=shown, total=page.total)


@router.post("/lessons", status_code=201)
def propose(new: NewLesson, deps: Deps, by: ActorDep) -> StandingOut:
    """Propose a lesson."""
    command = ProposeLesson(
        "",
        new.description,
        new.body,
        scope=new.scope,
        author="user",
        evidence=_evidence(new.memories, new.quotes),
    )
    proposed = deps.engine.lessons.propose(command, by=by, request_id=new.request_id)
    return one_lesson(proposed.lesson_id, deps)


@router.get("/lessons/{lesson_id}")
def one_lesson(lesson_id: str, deps: Deps) -> StandingOut:
    """A lesson with every check of the promotion gate, and what would meet each check."""
    return _standing_out(deps, deps.engine.lessons.gate_result(OWNER, lesson_id))


@router.patch("/lessons/{lesson_id}")
def edit(lesson_id: str, change: LessonChange, deps: Deps, by: ActorDep) -> StandingOut:
    """Edit a lesson's text. Feedback on the older text no longer counts."""
    command = EditLesson(lesson_id, change.description, change.body)
    deps.engine.lessons.edit(command, by=by, request_id=change.request_id)
    return one_lesson(lesson_id, deps)


@router.post("/lessons/{lesson_id}/narrative")
def narrate(lesson_id: str, said: NarrativeIn, deps: Deps, by: ActorDep) -> StandingOut:
    """Explain the reason for a lesson."""
    narrative = Narrative(
        said.trigger,
        said.failure_mode,
        said.correction,
        said.confidence,
        _evidence(said.memories, said.quotes),
    )
    deps.engine.lessons.narrate(lesson_id, by=by, narrative=narrative, request_id=said.request_id)
    return one_lesson(lesson_id, deps)


@router.post("/lessons/{lesson_id}/activation")
def activate(
    lesson_id: str,
    deps: Deps,
    by: ActorDep,
    text_digest: str = "",
    asked: Body = EMPTY_BODY,
) -> StandingOut:
    """Put a lesson on trial. `text_digest` is the digest of the text that you saw."""
    deps.engine.lessons.activate(
        lesson_id, by=by, text_digest=text_digest, request_id=asked.request_id
    )
    return one_lesson(lesson_id, deps)


@router.post("/lessons/{lesson_id}/promotion")
def promote(lesson_id: str, deps: Deps, by: ActorDep, asked: Body = EMPTY_BODY) -> PromotionOut:
    """Ask the gate to promote a lesson. A refusal is not an error; it lists every reason."""
    decision = deps.engine.lessons.promote(lesson_id, by=by, request_id=asked.request_id)
    return PromotionOut.model_validate(decision)


@router.post("/lessons/{lesson_id}/feedback")
def feedback(lesson_id: str, said: Feedback, deps: Deps, by: ActorDep) -> StandingOut:
    """Give feedback: the lesson helped, or it did harm."""
    command = GiveFeedback(lesson_id, said.helpful, said.signal_id, text_digest=said.text_digest)
    deps.engine.lessons.feedback(command, by=by, request_id=said.request_id)
    return one_lesson(lesson_id, deps)


@router.delete("/lessons/{lesson_id}/feedback/{signal_id}")
def withdraw(lesson_id: str, signal_id: str, deps: Deps, by: ActorDep) -> StandingOut:
    """Withdraw a piece of feedback."""
    deps.engine.lessons.withdraw(WithdrawFeedback(lesson_id, signal_id), by=by)
    return one_lesson(lesson_id, deps)


@router.post("/lessons/{lesson_id}/discard")
def discard(lesson_id: str, body: DiscardIn, deps: Deps, by: ActorDep) -> StandingOut:
    """Discard a lesson."""
    command = DiscardLesson(lesson_id, body.reason, body.force)
    deps.engine.lessons.discard(command, by=by, request_id=body.request_id)
    return one_lesson(lesson_id, deps)


@router.post("/lessons/{lesson_id}/successor")
def supersede(lesson_id: str, by_: Successor, deps: Deps, by: ActorDep) -> StandingOut:
    """Replace a lesson by another one."""
    command = SupersedeLesson(lesson_id, by_.by, by_.force)
    deps.engine.lessons.supersede(command, by=by, request_id=by_.request_id)
    return one_lesson(lesson_id, deps)


def _evidence(
    memories: Iterable[str], quotes: Iterable[str]
) -> tuple[MemoryEvidence | QuoteEvidence, ...]:
    return (*(MemoryEvidence(one) for one in memories), *(QuoteEvidence(one) for one in quotes))


def _standing_out(deps: Dependencies, standing: GateResult) -> StandingOut:
    lesson = standing.lesson
    with deps.engine.reading() as reader:
        feedback = signal_history(reader, lesson.position, lesson.digest)
        cited = [one.item_id for one in lesson.evidence if isinstance(one, MemoryEvidence)]
        texts = {
            item.item_id: item.text
            for item in items_with_ids(reader, load_viewer(reader, OWNER), cited)
        }
    narrative = lesson.narrative
    return StandingOut(
        lesson=LessonOut.model_validate(lesson),
        evidence=[
            EvidenceOut(kind="memory", item_id=one.item_id, text=texts.get(one.item_id, ""))
            if isinstance(one, MemoryEvidence)
            else EvidenceOut(kind="quote", item_id=one.found_in, text=one.text)
            for one in lesson.evidence
        ],
        narrative=None if narrative is None else NarrativeOut.model_validate(narrative),
        signals=[SignalOut.model_validate(one) for one in feedback.signals],
        checks=[CheckOut.model_validate(check) for check in standing.checks],
    )
