"""MCP tools for memories: remember a fact, zoom into a summary."""

import hashlib
import hmac
import threading
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, count
from typing import Annotated, Final

import msgspec
from pydantic import Field

from everloop.errors import Conflict, Invalid, NotFound
from everloop.interfaces.mcp.callers import McpContext
from everloop.interfaces.mcp.schemas import Level, RememberOut, Zoomed, memory_line
from everloop.interfaces.mcp.scoping import check_writable, resolve_scopes, wrong_scope_error
from everloop.interfaces.mcp.tool_context import Scope, ToolContext
from everloop.log import Context
from everloop.memory import (
    DURABLE,
    OWNER,
    Item,
    Origin,
    RememberItem,
    RememberResult,
    check_time,
    load_viewer,
    validate_new_item,
    zoom,
)

ID_CHARACTERS: Final = 32
KEYED: Final = "mem-k"  # prefix of keyed ids; plain ones continue with hexadecimal digits


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
    ) -> RememberOut:
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
            item_id="",
            text=text,
            title=title,
            scope=scope,
            origin=Origin(host=by.actor.partition(":")[2], session=by.session),
            durability=holds_until or DURABLE,
        )
        with self._one_at_a_time:  # concurrent duplicates are stored once
            item_id = self._id_of(by.actor, scope, text)
            wanted = msgspec.structs.replace(wanted, item_id=item_id)
            known = self._find(by.actor, item_id)
            if known is not None and self._still_says(known, wanted):
                return self._existing(known)
            kept = self._store(wanted, confirmation, by)
        return RememberOut(
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
        if self._find(OWNER, wanted.item_id) is not None:  # that memory was edited or has expired
            free = self._free_id(wanted.scope, wanted.text)
            wanted = msgspec.structs.replace(wanted, item_id=free)
        validate_new_item(wanted)  # validate before the confirmation is recorded
        wanted = msgspec.structs.replace(
            wanted, because=(self._room.record_words(by, confirmation),)
        )
        return self._room.engine.memory.remember(wanted, by=by)

    def _id_of(self, actor: str, scope: str, text: str) -> str:
        """The id of a memory with this text: the same again for the same text, unless it changed.

        Ids are keyed, so that nobody can compute which memory has a text and ask whether it is
        there. Memories of earlier versions keep their plain ids. An id that is taken by a memory
        which the caller cannot see, or which says something else now, gives way to another.
        """
        wanted = (scope, text.strip())
        for item_id in chain([plain_memory_id(scope, text)], self._keyed_ids(scope, text)):
            known = self._find(actor, item_id)
            if known is not None and (known.scope, known.text.strip()) == wanted:
                return item_id
            if item_id.startswith(KEYED) and self._find(OWNER, item_id) is None:
                return item_id
        raise AssertionError("there are as many ids as needed")

    def _free_id(self, scope: str, text: str) -> str:
        ids = self._keyed_ids(scope, text)
        return next(item_id for item_id in ids if self._find(OWNER, item_id) is None)

    def _keyed_ids(self, scope: str, text: str) -> Iterator[str]:
        key = self._room.engine.log.secret
        return (keyed_memory_id(key, scope, text, number) for number in count())

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
        now = self._room.engine.ports.clock.now()
        return known.holds_until is None or known.holds_until > now

    def _existing(self, known: Item) -> RememberOut:
        if known.retired:
            raise Conflict(
                f"{known.item_id} says this, but was retired",
                hint="Only the user can restore it; tell them.",
            )
        contradicts = list(known.contradicts)
        return RememberOut(notices=[], id=known.item_id, new=False, contradicts=contradicts)


def plain_memory_id(scope: str, text: str) -> str:
    """The id that earlier versions gave a memory, from its content alone."""
    digest = hashlib.sha256(f"{scope}\n{text.strip()}".encode()).hexdigest()
    return f"mem-{digest[:ID_CHARACTERS]}"


def keyed_memory_id(key: bytes, scope: str, text: str, number: int) -> str:
    """The id of a memory, from its content and a key that only the log has."""
    content = f"{number}\n{scope}\n{text.strip()}".encode()
    return f"{KEYED}{hmac.new(key, content, hashlib.sha256).hexdigest()[:ID_CHARACTERS]}"
