"""MCP tools for memories: remember a fact, zoom into a summary."""

import hashlib
import threading
from datetime import datetime
from typing import Annotated, Final

import msgspec
from pydantic import Field

from everloop.errors import Conflict, Invalid, NotFound
from everloop.interfaces.mcp.callers import McpContext
from everloop.interfaces.mcp.schemas import Level, Remembered, Zoomed, memory_line
from everloop.interfaces.mcp.scoping import check_writable, resolve_scopes, wrong_scope_error
from everloop.interfaces.mcp.tool_context import Scope, ToolContext
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.decide import DURABLE, check_time, validate_new_item
from everloop.memory.model.events import Origin
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import Item, load_viewer
from everloop.memory.service import RememberResult
from everloop.memory.summaries.zoom import zoom

ID_CHARACTERS: Final = 32


class MemoryTools:
    """The memory tools."""

    def __init__(self, room: ToolContext) -> None:
        self._room = room
        self._one_at_a_time = threading.Lock()

    def remember(
        self,
        text: Annotated[str, Field(description="One fact, in a self-contained sentence.")],
        scope: Scope,
        confirmation: Annotated[
            str,
            Field(
                description="The user's own words, verbatim, that say or confirm this."
                " If you have none, ask the user first."
            ),
        ],
        ctx: McpContext,
        title: Annotated[str, Field(description="Up to 280 characters.", max_length=280)] = "",
        holds_until: Annotated[
            str,
            Field(description="If it is only true for a while: until when, with time zone."),
        ] = "",
    ) -> Remembered:
        """Remember one fact that the user said or confirmed, with their words as `confirmation`.

        Not for your own thoughts or actions, nor for rules: those are lessons. The same text again
        changes nothing. If the result lists contradictions, tell the user.
        """
        by = self._room.callers.caller_context(ctx)
        self._room.check_length(text, confirmation)
        notices = check_writable(self._room.engine, by.actor, scope)
        if not confirmation.strip():
            raise Invalid(
                "`confirmation` is empty; it must be the user's own words",
                hint="Ask the user, then pass what they said as `confirmation`.",
            )
        check_time("holds_until", holds_until, allowed="")
        wanted = RememberItem(
            item_id=memory_id(scope, text),
            text=text,
            title=title,
            scope=scope,
            origin=Origin(host=by.actor.partition(":")[2], session=by.session),
            durability=holds_until or DURABLE,
        )
        with self._one_at_a_time:  # concurrent duplicates are stored once
            known = self._find(by.actor, wanted.item_id)
            if known is not None and self._still_says(known, wanted):
                return self._existing(known)
            kept = self._store(wanted, confirmation, by)
        return Remembered(
            notices=list(notices),
            id=kept.item_id,
            new=kept.new,
            contradicts=list(kept.contradicts),
            varies=kept.varies,
        )

    def zoom(
        self,
        id: Annotated[str, Field(description="A memory's id.")],
        scope: Scope,
        ctx: McpContext,
    ) -> Zoomed:
        """Expand a summary: the memories it was made from, level by level, down to the originals.

        Use it when a memory has `made_of` and you need details or the exact words.
        """
        by = self._room.callers.caller_context(ctx)
        where = resolve_scopes(self._room.engine, by.actor, scope)
        with self._room.engine.reading() as reader:
            found = zoom(reader, load_viewer(reader, by.actor), id)
        if found[0].item.scope not in where.scopes:
            raise wrong_scope_error(id, scope, found[0].item)
        shown = found[: self._room.doors.results_max]
        characters = self._room.doors.text_characters_max
        return Zoomed(
            levels=[
                Level(depth=each.depth, memory=memory_line(each.item, characters)) for each in shown
            ],
            more=len(found) - len(shown),
        )

    def _store(self, wanted: RememberItem, confirmation: str, by: Context) -> RememberResult:
        """Store a memory, with the user's confirmation recorded as its cause."""
        if (
            self._find(OWNER, wanted.item_id) is not None
        ):  # the id is taken: that memory was edited since
            wanted = msgspec.structs.replace(wanted, item_id="")
        validate_new_item(wanted)  # validate before the confirmation is recorded
        wanted = msgspec.structs.replace(
            wanted, because=(self._room.record_words(by, confirmation),)
        )
        return self._room.engine.memory.remember(wanted, by=by)

    def _find(self, principal: str, item_id: str) -> Item | None:
        try:
            return self._room.engine.memory.find(principal, item_id)
        except NotFound:
            return None

    def _still_says(self, known: Item, wanted: RememberItem) -> bool:
        """Whether a memory still says this: it may have been edited, moved or expired."""
        if (known.scope, known.text.strip()) != (wanted.scope, wanted.text.strip()):
            return False
        if wanted.durability != DURABLE:
            until = datetime.fromisoformat(wanted.durability)
            return known.retired or known.holds_until == until
        now = self._room.engine.world.clock.now()
        return known.holds_until is None or known.holds_until > now

    def _existing(self, known: Item) -> Remembered:
        if known.retired:
            raise Conflict(
                f"{known.item_id} says this, but was retired",
                hint="Only the user can restore it; tell them.",
            )
        contradicts = list(known.contradicts)
        return Remembered(notices=[], id=known.item_id, new=False, contradicts=contradicts)


def memory_id(scope: str, text: str) -> str:
    """The id of a memory, from its content: remembering it again is idempotent."""
    digest = hashlib.sha256(f"{scope}\n{text.strip()}".encode()).hexdigest()
    return f"mem-{digest[:ID_CHARACTERS]}"
