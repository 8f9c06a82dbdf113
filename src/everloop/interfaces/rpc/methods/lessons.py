"""`lesson.*` methods: propose, search, promote, discard, feedback. Only the gate promotes."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from everloop.errors import Conflict, Forbidden
from everloop.interfaces.rpc.errors import (
    LESSON_IMMUNE,
    PROMOTION_BLOCKED,
    SUPERSEDE_BLOCKED,
    RpcError,
    not_found_subject,
)
from everloop.interfaces.rpc.host import RpcHost
from everloop.interfaces.rpc.shapes import (
    PAGE_MAX,
    PAGE_SIZE,
    Id,
    NonEmptyText,
    NonNegativeInt,
    Scope,
    page_json,
    parse_scope,
    preview,
    time_json,
)
from everloop.lessons import (
    DiscardLesson,
    GiveFeedback,
    LessonView,
    ProposeLesson,
    ReplacementRefused,
    SupersedeLesson,
    UseLesson,
    parse_evidence,
)

AUTHORS: Final = ("user", "pack")  # any other value means an agent
HELPFUL_POLARITIES: Final = ("thumbs_up", "up", "+")

Polarity = Literal["thumbs_up", "up", "+", "thumbs_down", "down", "-"]


class Create(msgspec.Struct, frozen=True):
    """A lesson to propose. Evidence that begins with `mem-` is a memory, other text a quote.

    Without a scope, it takes the scope of the memories that it cites.
    """

    description: NonEmptyText
    body: NonEmptyText
    evidence: tuple[str, ...] = ()
    authored_by: str = "agent"
    pack_id: str = ""
    external_id: str = ""
    seed_as_promoted: bool = False
    scope: Scope | None = None


class Recall(msgspec.Struct, frozen=True):
    """A search query."""

    query: NonEmptyText
    limit: NonNegativeInt = 5


class LessonById(msgspec.Struct, frozen=True):
    """Which lesson."""

    id: Id


class Discard(msgspec.Struct, frozen=True):
    """Which lesson to discard, and why."""

    id: Id
    reason: str | None = None
    force: bool = False


class List(msgspec.Struct, frozen=True):
    """Which page of which lessons."""

    statuses: tuple[str, ...] = ()
    limit: NonNegativeInt = PAGE_SIZE
    offset: NonNegativeInt = 0


class Feedback(msgspec.Struct, frozen=True):
    """A user's feedback on a lesson, with the user's words. The same signal counts once."""

    id: Id
    polarity: Polarity
    source_signal_id: str = ""
    words: str = ""


class Supersede(msgspec.Struct, frozen=True):
    """Which lesson replaces which."""

    old_id: Id
    new_id: Id
    force: bool = False


class Used(msgspec.Struct, frozen=True):
    """Which lesson was used. `use_id` distinguishes two uses in one session."""

    id: Id
    use_id: str = ""
    session_id: Annotated[str, Meta(max_length=200)] = ""


def create(host: RpcHost, asked: Create) -> dict[str, Any]:
    """Propose a lesson."""
    author = asked.authored_by if asked.authored_by in AUTHORS else "agent"
    evidence = parse_evidence(asked.evidence)
    if asked.scope is None:
        scope = host.engine.lessons.scope_of_evidence(evidence, by=host.by)
    else:
        scope = parse_scope(asked.scope)
    made = host.engine.lessons.propose(
        ProposeLesson(
            lesson_id="",
            description=asked.description,
            body=asked.body,
            scope=host.check_scope_access(scope),
            author=author,
            evidence=evidence,
            pack_id=asked.pack_id,
            external_id=asked.external_id,
            seed_as_promoted=asked.seed_as_promoted,
        ),
        by=host.by,
    )
    result: dict[str, Any] = {"id": made.lesson_id, "status": made.status, "authored_by": author}
    if author == "pack":
        pack = {"pack_id": asked.pack_id, "external_id": asked.external_id}
        result |= {name: value for name, value in pack.items() if value}
    result |= {"created_at": time_json(made.created_at), "updated": made.updated}
    return {**result, "withheld": True} if made.withheld else result


def recall(host: RpcHost, asked: Recall) -> dict[str, Any]:
    """The lessons that match a query best."""
    limit = min(asked.limit, PAGE_MAX)
    found = host.engine.lessons.recall(host.actor, asked.query, limit=limit)
    results = [
        {
            "kind": "lesson",
            "id": hit.lesson.lesson_id,
            "description": hit.lesson.description,
            "status": hit.lesson.status,
            "body_preview": preview(hit.lesson.body),
            "similarity": round(hit.similarity, 3),
            "applied_count": hit.lesson.uses,
        }
        for hit in found
    ]
    return {"query": asked.query, "returned": len(results), "results": results}


def promote(host: RpcHost, asked: LessonById) -> dict[str, Any]:
    """Ask the gate to promote a lesson."""
    decision = host.engine.lessons.promote(asked.id, by=host.by)
    if not decision.passed:
        message = f"promotion blocked: {'; '.join(decision.reasons)}"
        raise RpcError(PROMOTION_BLOCKED, message, {"reasons": decision.reasons})
    return {
        "ok": True,
        "id": asked.id,
        "gate": "passed",
        "status": decision.status,
        "from": decision.before,
        "cited_memory_ids": decision.cited,
    }


def discard(host: RpcHost, asked: Discard) -> dict[str, Any]:
    """Discard a lesson."""
    before = host.engine.lessons.find(host.actor, asked.id).status
    command = DiscardLesson(asked.id, asked.reason or "", asked.force)
    try:
        after = host.engine.lessons.discard(command, by=host.by)
    except Forbidden as problem:
        raise immune_error(problem, asked.id) from problem
    result = {"ok": True, "id": asked.id, "status": after.status, "from": before}
    return {**result, "reason": asked.reason}


def list_lessons(host: RpcHost, asked: List) -> dict[str, Any]:
    """One page of lessons, by status and then by id."""
    limit = min(asked.limit, PAGE_MAX)
    page = host.engine.lessons.page(host.actor, asked.statuses, limit=limit, offset=asked.offset)
    results = [lesson_json(lesson) for lesson in page.lessons]
    return page_json(results, total=page.total, limit=limit, offset=asked.offset)


def feedback(host: RpcHost, asked: Feedback) -> dict[str, Any]:
    """Relay a user's feedback on a lesson."""
    helpful = asked.polarity in HELPFUL_POLARITIES
    command = GiveFeedback(
        asked.id, helpful=helpful, signal_id=asked.source_signal_id, words=asked.words
    )
    lesson = host.engine.lessons.feedback(command, by=host.by)
    return {
        "ok": True,
        "id": asked.id,
        "status": lesson.status,
        "thumbs_up_count": lesson.thumbs_up,
        "thumbs_down_count": lesson.thumbs_down,
        "external_signal_sources": lesson.sources,
    }


def supersede(host: RpcHost, asked: Supersede) -> dict[str, Any]:
    """Replace a lesson by another one."""
    command = SupersedeLesson(asked.old_id, asked.new_id, asked.force)
    try:
        with not_found_subject(asked.old_id):
            old = host.engine.lessons.supersede(command, by=host.by)
    except Forbidden as problem:
        raise immune_error(problem, asked.old_id) from problem
    except Conflict as problem:
        code = problem.code if isinstance(problem, ReplacementRefused) else "not-possible"
        data = {"reason": code, "hint": problem.hint}
        raise RpcError(SUPERSEDE_BLOCKED, f"supersede blocked: {problem}", data) from problem
    result = {"ok": True, "old_id": asked.old_id, "new_id": asked.new_id}
    return {**result, "old_status": old.status}


def report_use(host: RpcHost, asked: Used) -> dict[str, Any]:
    """Record that a lesson was used."""
    command = UseLesson(asked.id, asked.use_id)
    lesson = host.engine.lessons.use(command, by=host.in_session(asked.session_id))
    result = {"ok": True, "id": asked.id, "status": lesson.status}
    return {**result, "applied_count": lesson.uses}


# -- shared with lesson_details -------------------------------------------------------------------


def immune_error(problem: Forbidden, lesson_id: str) -> RpcError:
    """The error for a host that tries to change a user's lesson."""
    return RpcError(LESSON_IMMUNE, str(problem), {"lesson_id": lesson_id, "hint": problem.hint})


def lesson_json(lesson: LessonView) -> dict[str, Any]:
    """A lesson in a list, as JSON."""
    return {
        "id": lesson.lesson_id,
        "description": lesson.description,
        "status": lesson.status,
        "authored_by": lesson.author,
        "pack_id": lesson.pack_id or None,
        "external_id": lesson.external_id or None,
        "applied_count": lesson.uses,
        "thumbs_up_count": lesson.thumbs_up,
        "thumbs_down_count": lesson.thumbs_down,
        "created_at": time_json(lesson.created_at),
        "updated_at": time_json(lesson.updated_at),
    }
