"""Tools over lessons: propose one, say that it was used, pass on what the user says of it.

What a host says in the user's name is recorded as passed on. Whether it counts is the gate's to
say, from whom the user trusts.
"""

import hashlib
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from everloop.errors import Invalid
from everloop.interfaces.mcp.callers import Ctx
from everloop.interfaces.mcp.schemas import LessonLine, Proposed, lesson_line
from everloop.interfaces.mcp.scoping import check_writable, place
from everloop.interfaces.mcp.tool_context import Room, Scope
from everloop.lessons.model.commands import GiveFeedback, ProposeLesson, UseLesson
from everloop.lessons.model.events import Evidence, MemoryEvidence, Narrative, QuoteEvidence
from everloop.lessons.model.narrative import CORRECTION_MAX, FAILURE_MAX, QUOTE_MAX, TRIGGER_MAX
from everloop.lessons.projections import queries
from everloop.log import Context

LessonId = Annotated[str, Field(description="A lesson's id: `les-…`.")]


class Why(BaseModel):
    """Why a lesson holds: what set it off, what went wrong, what put it right."""

    trigger: str = Field(max_length=TRIGGER_MAX)
    failure_mode: str = Field(max_length=FAILURE_MAX)
    correction: str = Field(max_length=CORRECTION_MAX)
    confidence: Literal["observed", "inferred", "speculative"] = Field(
        description="`observed` only if the evidence shows it."
    )


class LessonTools:
    """What a model may do with lessons. There is no tool to promote one, nor to put it on trial."""

    def __init__(self, room: Room) -> None:
        self._room = room

    def propose_lesson(  # noqa: PLR0913 - a tool's arguments are its form
        self,
        description: Annotated[
            str, Field(description="The rule in one sentence.", min_length=1, max_length=280)
        ],
        body: Annotated[str, Field(description="How to follow it, and when it does not hold.")],
        scope: Scope,
        ctx: Ctx,
        memories: Annotated[
            list[str],
            Field(description="Ids of memories it stands on. Older ones, not of this session."),
        ] = [],  # noqa: B006 - the SDK copies it
        quotes: Annotated[
            list[str], Field(description="Words of the user, verbatim, that it stands on.")
        ] = [],  # noqa: B006 - the SDK copies it
        author: Annotated[
            Literal["agent", "user"],
            Field(description="`user` only if the rule is the user's own, in `quotes`."),
        ] = "agent",
        why: Annotated[Why | None, Field(description="Without it, it cannot be promoted.")] = None,
        skill: Annotated[
            str, Field(description="The skill that it makes better, if any.", max_length=64)
        ] = "",
    ) -> Proposed:
        """Put a rule forward that would have helped. It is pending until the user says more.

        Propose it with what shows that it holds: older memories, the user's words, and why. You
        cannot promote it; the answer names what is in its way.
        """
        by = self._room.callers.by(ctx)
        self._room.check_length(description, body, *quotes)
        notices = check_writable(self._room.engine, by.actor, scope)
        if author == "user" and not quotes:
            raise Invalid(
                "a user's own rule needs the user's words", hint="Pass them, verbatim, as `quotes`."
            )
        evidence: tuple[Evidence, ...] = (
            *(MemoryEvidence(item_id) for item_id in memories),
            *(QuoteEvidence(text) for text in quotes),
        )
        new = ProposeLesson(
            lesson_id=lesson_id(by, scope, description, body),
            description=description,
            body=body,
            scope=scope,
            author=author,
            evidence=evidence,
            target_skill=skill,
        )
        teacher = self._room.engine.lessons
        proposed = teacher.propose(new, by=by)
        if why is not None:
            short = (QuoteEvidence(text[:QUOTE_MAX]) for text in quotes)
            named = (MemoryEvidence(item_id) for item_id in memories)
            narrative = Narrative(**why.model_dump(), evidence=(*named, *short))
            teacher.narrate(proposed.lesson_id, by=by, narrative=narrative)
        standing = teacher.standing(by.actor, proposed.lesson_id)
        return Proposed(
            notices=list(notices),
            id=proposed.lesson_id,
            status=standing.lesson.status.value,
            new=not proposed.updated,
            in_the_way=list(standing.reasons),
        )

    def report_use(
        self,
        id: LessonId,
        scope: Scope,
        ctx: Ctx,
        use: Annotated[
            str, Field(description="A name for this use. The same name in one session counts once.")
        ] = "",
    ) -> LessonLine:
        """Say that you really acted on a lesson. Having read it is no use of it.

        Once for each occasion: give it a name of its own in `use`.
        """
        by = self._room.callers.by(ctx)
        self._check_there(by, scope, id)
        self._room.engine.lessons.use(UseLesson(id, use), by=by)
        return self._line(by, id)

    def give_feedback(
        self,
        id: LessonId,
        scope: Scope,
        helpful: Annotated[bool, Field(description="Whether the user says that it helped.")],
        words: Annotated[str, Field(description="What the user said, verbatim.")],
        ctx: Ctx,
    ) -> LessonLine:
        """Pass on what the user says of a lesson, in their words. Never your own opinion.

        A thumbs-down stops the lesson at once, and only the user can take it back.
        """
        by = self._room.callers.by(ctx)
        self._room.check_length(words)
        self._check_there(by, scope, id)
        if not words.strip():
            raise Invalid(
                "feedback is the user's: it needs their words", hint="Pass what they said."
            )
        request = _digest(by.actor, by.session, id, str(helpful), words)
        noted = self._room.note(by, words, request_id=f"said-{request}")
        signal = GiveFeedback(id, helpful, signal_id=f"note-{noted}")
        self._room.engine.lessons.feedback(signal, by=by)
        return self._line(by, id)

    def _check_there(self, by: Context, scope: str, lesson: str) -> None:
        """Make sure that there is such a lesson in this scope, for this host."""
        where = place(self._room.engine, by.actor, scope)
        with self._room.engine.reading() as reader:
            queries.find(reader, where.eyes, lesson)

    def _line(self, by: Context, lesson: str) -> LessonLine:
        standing = self._room.engine.lessons.standing(by.actor, lesson)
        return lesson_line(standing, self._room.doors.preview_characters)


def lesson_id(by: Context, scope: str, description: str, body: str) -> str:
    """The id of a host's lesson by what it says, so that a repeated proposal is the same one."""
    return f"les-{_digest(by.actor, scope, description.strip(), body.strip())}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]
