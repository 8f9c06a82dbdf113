"""MCP resources: a memory, a lesson or a manifest to attach to a conversation."""

from typing import Any

from mcp.server import MCPServer

from everloop.interfaces.mcp import errors
from everloop.interfaces.mcp.callers import McpContext
from everloop.interfaces.mcp.schemas import LessonLine, MemoryLine, lesson_line, memory_line
from everloop.interfaces.mcp.tool_context import ToolContext
from everloop.interfaces.mcp.tools.recall import SearchTools

JSON, MARKDOWN = "application/json", "text/markdown"


class Resources:
    """Resources by URI. One that the host may not see is not found."""

    def __init__(self, room: ToolContext) -> None:
        self._room = room
        self._look = SearchTools(room)

    def memory(self, id: str, ctx: McpContext) -> MemoryLine:
        """A memory in full."""
        by = self._room.callers.caller_context(ctx)
        item = self._room.engine.memory.find(by.actor, id)
        return memory_line(item, self._room.doors.text_characters_max)

    def lesson(self, id: str, ctx: McpContext) -> LessonLine:
        """A lesson in full, with what is missing for its promotion."""
        by = self._room.callers.caller_context(ctx)
        standing = self._room.engine.lessons.gate_result(by.actor, id)
        return lesson_line(standing, self._room.doors.text_characters_max)

    def manifest(self, scope: str, ctx: McpContext) -> str:
        """What to know in a scope: lessons, skills, personas and teams."""
        shown = self._look.manifest(scope, ctx)
        return "\n\n".join([*shown.notices, shown.text])


def add_resources(server: MCPServer[Any], room: ToolContext) -> None:
    """Register the resources with a server."""
    resources = Resources(room)
    server.resource("everloop://memory/{id}", name="memory", title="A memory", mime_type=JSON)(
        errors.wrap_resource(resources.memory)
    )
    server.resource("everloop://lesson/{id}", name="lesson", title="A lesson", mime_type=JSON)(
        errors.wrap_resource(resources.lesson)
    )
    server.resource(
        "everloop://manifest/{scope}", name="manifest", title="What to know", mime_type=MARKDOWN
    )(errors.wrap_resource(resources.manifest))
