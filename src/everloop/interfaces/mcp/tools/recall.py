"""MCP tools that read: recall by query, browse by list or id, and the manifest."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from everloop.interfaces.mcp.callers import McpContext
from everloop.interfaces.mcp.schemas import (
    Browsed,
    FoundLesson,
    Recalled,
    Shown,
    found_memory,
    lesson_line,
    memory_line,
)
from everloop.interfaces.mcp.scoping import SearchScopes, resolve_scopes, wrong_scope_error
from everloop.interfaces.mcp.tool_context import Scope, ToolContext
from everloop.lessons import ManifestRequest, find_lesson, lesson_page, search_lessons
from everloop.log import Context
from everloop.memory import Filter, SearchMode, SearchQuery, load_viewer, page_by_time, resolve_item

LessonStatus = Literal["pending", "active", "promoted", "superseded", "discarded"]
OFFSET_MAX: Final = 10_000_000
Limit = Annotated[int, Field(description="Maximum number of results.", ge=1)]


class SearchTools:
    """The search and browse tools."""

    def __init__(self, room: ToolContext) -> None:
        self._room = room

    def recall(
        self,
        query: Annotated[str, Field(description="A question or a few keywords.", min_length=1)],
        scope: Scope,
        ctx: McpContext,
        limit: Limit = 10,
        mode: Annotated[
            SearchMode,
            Field(description="`text`: by keyword, `semantic`: by meaning, `hybrid`: both."),
        ] = "hybrid",
        min_similarity: Annotated[
            float, Field(description="Minimum similarity, 0 to 1.", ge=0, le=1)
        ] = 0.0,
    ) -> Recalled:
        """Search memories and lessons in one scope and in `global`, best match first.

        Call it before you answer from memory, ask the user something they may have said before, or
        start a task. Read `notices`: they say if nothing was searched.
        """
        by = self._room.callers.caller_context(ctx)
        where = resolve_scopes(self._room.engine, by.actor, scope)
        if not where.scopes:
            return Recalled(notices=list(where.notices), memories=[], lessons=[])
        if mode != "text":
            self._room.start_embedding()
        asked = SearchQuery(
            query,
            limit=self._room.clamp_limit(limit),
            mode=mode,
            only=Filter(scopes=where.scopes),
            min_similarity=min_similarity,
        )
        answer = self._room.engine.memory.recall(by.actor, asked)
        characters = self._room.doors.preview_characters
        return Recalled(
            notices=list(answer.notes),
            memories=[found_memory(hit, characters) for hit in answer.hits],
            lessons=self._matching_lessons(where, asked),
        )

    def manifest(
        self,
        scope: Scope,
        ctx: McpContext,
        query: Annotated[
            str, Field(description="What the task is about; matching memories are added.")
        ] = "",
    ) -> Shown:
        """Get what to know at the start of a task: lessons with their status, skills, teams.

        Call it once for each task. It records which lessons you were shown; report the ones that
        you act on with `report_use`.
        """
        by = self._room.callers.caller_context(ctx)
        where = resolve_scopes(self._room.engine, by.actor, scope)
        if not where.scopes:
            return Shown(
                notices=list(where.notices),
                text="",
                tokens=0,
                lessons=[],
                memories=[],
                context_id="",
            )
        if query.strip():
            self._room.start_embedding()
        wish = ManifestRequest(
            statuses=("promoted", "active"),
            memory_query=query,
            memory_only=Filter(scopes=where.scopes),
            scopes=where.scopes,
        )
        made = self._room.engine.manifests.build(wish, by=by)
        return Shown(
            notices=list(made.stats.notes),
            text=made.text,
            tokens=made.tokens,
            lessons=[shown.lesson.lesson_id for shown in made.lessons],
            memories=[shown.item_id for shown in made.memories],
            context_id=made.context_id,
        )

    def browse(  # noqa: PLR0913 - a tool's arguments are its form
        self,
        what: Annotated[Literal["memories", "lessons"], Field(description="What to list.")],
        scope: Scope,
        ctx: McpContext,
        id: Annotated[
            str,
            Field(description="Show only this one, in full. A memory's last 8 characters suffice."),
        ] = "",
        status: Annotated[
            list[LessonStatus],
            Field(
                description="Only lessons with these statuses. By default, all but discarded ones."
            ),
        ] = [],  # noqa: B006 - the SDK copies it
        limit: Limit = 20,
        offset: Annotated[
            int, Field(description="Number of results to skip.", ge=0, le=OFFSET_MAX)
        ] = 0,
    ) -> Browsed:
        """List memories, newest first, or lessons by status; or show one in full by its id.

        To search by topic, use `recall`.
        """
        by = self._room.callers.caller_context(ctx)
        where = resolve_scopes(self._room.engine, by.actor, scope)
        if not where.scopes:
            return Browsed(notices=list(where.notices))
        number = self._room.clamp_limit(limit)
        if what == "lessons":
            return self._lesson(where, id) if id else self._lessons(where, status, number, offset)
        return self._memory(by, where, id) if id else self._memories(by, where, number, offset)

    def _matching_lessons(self, where: SearchScopes, asked: SearchQuery) -> list[FoundLesson]:
        with self._room.engine.reading() as reader:
            hits = search_lessons(reader, where.audience, asked.text, limit=asked.limit)
            hits = [hit for hit in hits if hit.similarity >= asked.min_similarity]
            standings = self._room.engine.lessons.gate_results(reader, [hit.lesson for hit in hits])
        characters = self._room.doors.preview_characters
        return [
            FoundLesson(lesson=lesson_line(each, characters), similarity=round(hit.similarity, 3))
            for hit, each in zip(hits, standings, strict=True)
        ]

    def _memory(self, by: Context, where: SearchScopes, name: str) -> Browsed:
        with self._room.engine.reading() as reader:
            item = resolve_item(reader, load_viewer(reader, by.actor), name)
        if item.scope not in where.scopes:
            raise wrong_scope_error(name, where.scopes[0], item)
        return Browsed(notices=[], memories=[memory_line(item, self._characters_max)], total=1)

    def _memories(self, by: Context, where: SearchScopes, limit: int, offset: int) -> Browsed:
        only = Filter(scopes=where.scopes)
        with self._room.engine.reading() as reader:
            who = load_viewer(reader, by.actor)
            items, total = page_by_time(reader, who, only, limit=limit, offset=offset)
        characters = self._room.doors.preview_characters
        return Browsed(
            notices=[], memories=[memory_line(item, characters) for item in items], total=total
        )

    def _lesson(self, where: SearchScopes, lesson_id: str) -> Browsed:
        with self._room.engine.reading() as reader:
            lesson = find_lesson(reader, where.audience, lesson_id)
            standing = self._room.engine.lessons.gate_results(reader, [lesson])[0]
        return Browsed(notices=[], lessons=[lesson_line(standing, self._characters_max)], total=1)

    def _lessons(
        self, where: SearchScopes, status: Sequence[str], limit: int, offset: int
    ) -> Browsed:
        with self._room.engine.reading() as reader:
            found = lesson_page(reader, where.audience, status, limit=limit, offset=offset)
            standings = self._room.engine.lessons.gate_results(reader, found.lessons)
        characters = self._room.doors.preview_characters
        lines = [lesson_line(each, characters) for each in standings]
        return Browsed(notices=[], lessons=lines, total=found.total)

    @property
    def _characters_max(self) -> int:
        return self._room.doors.text_characters_max
