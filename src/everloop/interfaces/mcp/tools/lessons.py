"""MCP tools for lessons: propose one, report its use, relay the user's feedback.

What a host says in the user's name is recorded as relayed. Whether it counts is decided by the
gate, by whether the user trusts that host.
"""

import hashlib
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from everloop.errors import Invalid
from everloop.interfaces.mcp.callers import McpContext
from everloop.interfaces.mcp.schemas import LessonLine, Proposed, lesson_line
from everloop.interfaces.mcp.scoping import check_writable, resolve_scopes
from everloop.interfaces.mcp.tool_context import Scope, ToolContext
from everloop.lessons import (
    CORRECTION_MAX,
    FAILURE_MAX,
    QUOTE_MAX,
    TRIGGER_MAX,
    Evidence,
    GiveFeedback,
    MemoryEvidence,
    Narrative,
    ProposeLesson,
    QuoteEvidence,
    UseLesson,
    content_lesson_id,
    find_lesson,
)
from everloop.log import Context

LessonId = Annotated[str, Field(description="A lesson's id: `les-…`.")]


class Why(BaseModel):
    """The reason for a lesson: what triggered it, what failed, what fixed it."""

    trigger: str = Field(max_length=TRIGGER_MAX)
    failure_mode: str = Field(max_length=FAILURE_MAX)
    correction: str = Field(max_length=CORRECTION_MAX)
    confidence: Literal["observed", "inferred", "speculative"] = Field(
        description="Use `observed` only if the evidence shows it."
    )


class LessonTools:
    """The lesson tools. There is none to promote a lesson or to put one on trial."""

    def __init__(self, room: ToolContext) -> None:
        self._room = room

    def propose_lesson(  # noqa: PLR0913 - a tool's arguments are its form
        self,
        description: Annotated[
            str, Field(description="The rule in one sentence.", min_length=1, max_length=280)
        ],
        body: Annotated[
            str, Field(description="How to follow the rule, and when it does not apply.")
        ],
        scope: Scope,
        ctx: McpContext,
        memories: Annotated[
            list[str],
            Field(description="Ids of memories that support it, older than this session."),
        ] = [],  # noqa: B006 - the SDK copies it
        quotes: Annotated[
            list[str], Field(description="The user's words that support it, verbatim.")
        ] = [],  # noqa: B006 - the SDK copies it
        author: Annotated[
            Literal["agent", "user"],
            Field(description="`user` only if the rule is the user's own, given in `quotes`."),
        ] = "agent",
        why: Annotated[
            Why | None, Field(description="The reason for it; required for promotion.")
        ] = None,
        skill: Annotated[
            str, Field(description="The skill that it improves, if any.", max_length=64)
        ] = "",
    ) -> Proposed:
        """Propose a rule that would have helped. It stays pending until the user decides.

        Give evidence: older memories, the user's words, and the reason. You cannot promote it; the
        result lists the requirements for promotion that are not met.
        """
        by = self._room.callers.caller_context(ctx)
        self._room.check_length(description, body, *quotes)
        notices = check_writable(self._room.engine, by.actor, scope)
        if author == "user" and not quotes:
            raise Invalid(
                "a rule of the user needs the user's words",
                hint="Pass them, verbatim, as `quotes`.",
            )
        evidence: tuple[Evidence, ...] = (
            *(MemoryEvidence(item_id) for item_id in memories),
            *(QuoteEvidence(text) for text in quotes),
        )
        new = ProposeLesson(
            lesson_id=self._lesson_id(by.actor, scope, description.strip(), body.strip()),
            description=description,
            body=body,
            scope=scope,
            author=author,
            evidence=evidence,
            target_skill=skill,
        )
        service = self._room.engine.lessons
        proposed = service.propose(new, by=by)
        if why is not None:
            quoted = (QuoteEvidence(text[:QUOTE_MAX]) for text in quotes)
            cited = (MemoryEvidence(item_id) for item_id in memories)
            narrative = Narrative(**why.model_dump(), evidence=(*cited, *quoted))
            service.narrate(proposed.lesson_id, by=by, narrative=narrative)
        standing = service.gate_result(by.actor, proposed.lesson_id)
        return Proposed(
            notices=list(notices),
            id=proposed.lesson_id,
            status=standing.lesson.status.value,
            new=not proposed.updated,
            in_the_way=list(standing.reasons),
        )

    def _lesson_id(self, actor: str, *content: str) -> str:
        """The id of a lesson, from its content: proposing it again is idempotent."""
        parts = (actor, *content)
        plain = f"les-{_digest(*parts)}"  # of versions without keys
        return content_lesson_id(self._room.engine.log, actor, parts, plain=plain)

    def report_use(
        self,
        id: LessonId,
        scope: Scope,
        ctx: McpContext,
        use: Annotated[
            str, Field(description="A name for this use. The same name counts once in a session.")
        ] = "",
    ) -> LessonLine:
        """Report that you acted on a lesson. Reading it is not a use.

        Call it once for each use, with a different name in `use`.
        """
        by = self._room.callers.caller_context(ctx)
        self._check_exists(by, scope, id)
        self._room.engine.lessons.use(UseLesson(id, use), by=by)
        return self._line(by, id)

    def give_feedback(
        self,
        id: LessonId,
        scope: Scope,
        helpful: Annotated[bool, Field(description="Whether the user said that it helped.")],
        words: Annotated[str, Field(description="What the user said, verbatim.")],
        ctx: McpContext,
    ) -> LessonLine:
        """Relay the user's feedback on a lesson, in their words. Never your own opinion.

        Praise supports a lesson only if the user trusts you, and said these words in your session.
        Negative feedback stops the lesson at once, and only the user can withdraw it.
        """
        by = self._room.callers.caller_context(ctx)
        self._room.check_length(words)
        self._check_exists(by, scope, id)
        if not words.strip():
            raise Invalid(
                "feedback needs the user's own words", hint="Pass what they said as `words`."
            )
        request = _digest(by.actor, by.session, id, str(helpful), words)
        noted = self._room.record_words(by, words, request_id=f"said-{request}")
        signal = GiveFeedback(id, helpful, signal_id=f"note-{noted}", words=words)
        self._room.engine.lessons.feedback(signal, by=by)
        return self._line(by, id)

    def _check_exists(self, by: Context, scope: str, lesson: str) -> None:
        """Check that the host can see the lesson in this scope."""
        where = resolve_scopes(self._room.engine, by.actor, scope)
        with self._room.engine.reading() as reader:
            find_lesson(reader, where.audience, lesson)

    def _line(self, by: Context, lesson: str) -> LessonLine:
        standing = self._room.engine.lessons.gate_result(by.actor, lesson)
        return lesson_line(standing, self._room.doors.preview_characters)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]
