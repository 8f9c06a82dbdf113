"""Tools over memories: remember, zoom."""

import hashlib
import threading
from datetime import datetime
from typing import Annotated, Final

import msgspec
from pydantic import Field

from everloop.errors import Conflict, Invalid, NotFound
from everloop.interfaces.mcp.callers import Ctx
from everloop.interfaces.mcp.schemas import Level, Remembered, Zoomed, line
from everloop.interfaces.mcp.scoping import check_writable, elsewhere, place
from everloop.interfaces.mcp.tool_context import Room, Scope
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.decide import DURABLE, check_new, check_time
from everloop.memory.model.events import Origin
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import Item, asker
from everloop.memory.service import Kept
from everloop.memory.summaries.zoom import zoom

ID_CHARACTERS: Final = 32


class MemoryTools:
    """What a model may do with memories."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._one_at_a_time = threading.Lock()

    def remember(
        self,
        text: Annotated[str, Field(description="One fact, in a sentence that stands by itself.")],
        scope: Scope,
        confirmation: Annotated[
            str,
            Field(
                description="The user's own words, verbatim, by which they said or confirmed this."
                " If you have none, ask the user first."
            ),
        ],
        ctx: Ctx,
        title: Annotated[str, Field(description="Up to 280 characters.", max_length=280)] = "",
        holds_until: Annotated[
            str,
            Field(description="For what is true only for a while: until when, with time zone."),
        ] = "",
    ) -> Remembered:
        """Remember one fact that the user said or confirmed, with their words as `confirmation`.

        Not for what you think or did, nor for rules of conduct: those are lessons. The same text
        again changes nothing. If the answer names contradictions, tell the user.
        """
        by = self._room.callers.by(ctx)
        self._room.check_length(text, confirmation)
        notices = check_writable(self._room.engine, by.actor, scope)
        if not confirmation.strip():
            raise Invalid(
                "remembering needs the user's own words",
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
        with self._one_at_a_time:  # a host that asks twice at once asks once
            known = self._known(by.actor, wanted.item_id)
            if known is not None and self._still_says(known, wanted):
                return self._already(known)
            kept = self._kept(wanted, confirmation, by)
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
        ctx: Ctx,
    ) -> Zoomed:
        """Open a summary: the memories it was made of, level by level, down to what was said.

        Use it when a memory has `made_of` and you need the details or the exact words.
        """
        by = self._room.callers.by(ctx)
        where = place(self._room.engine, by.actor, scope)
        with self._room.engine.reading() as reader:
            met = zoom(reader, asker(reader, by.actor), id)
        if met[0].item.scope not in where.scopes:
            raise elsewhere(id, scope, met[0].item)
        shown = met[: self._room.doors.results_max]
        characters = self._room.doors.text_characters_max
        return Zoomed(
            levels=[Level(depth=each.depth, memory=line(each.item, characters)) for each in shown],
            more=len(met) - len(shown),
        )

    def _kept(self, wanted: RememberItem, confirmation: str, by: Context) -> Kept:
        """What became of it, on the user's words."""
        if self._known(OWNER, wanted.item_id) is not None:  # and says something else now
            wanted = msgspec.structs.replace(wanted, item_id="")
        check_new(wanted)  # before the user's words are recorded for it
        wanted = msgspec.structs.replace(wanted, because=(self._room.note(by, confirmation),))
        return self._room.engine.memory.remember(wanted, by=by)

    def _known(self, principal: str, item_id: str) -> Item | None:
        try:
            return self._room.engine.memory.find(principal, item_id)
        except NotFound:
            return None

    def _still_says(self, known: Item, wanted: RememberItem) -> bool:
        """Whether it says this now: it may have been changed or moved, or hold no longer."""
        if (known.scope, known.text.strip()) != (wanted.scope, wanted.text.strip()):
            return False
        if wanted.durability != DURABLE:
            until = datetime.fromisoformat(wanted.durability)
            return known.retired or known.holds_until == until
        now = self._room.engine.world.clock.now()
        return known.holds_until is None or known.holds_until > now

    def _already(self, known: Item) -> Remembered:
        if known.retired:
            raise Conflict(
                f"{known.item_id} was remembered before and retired since",
                hint="Only the user can bring it back; tell them.",
            )
        contradicts = list(known.contradicts)
        return Remembered(notices=[], id=known.item_id, new=False, contradicts=contradicts)


def memory_id(scope: str, text: str) -> str:
    """The id of a memory by what it says, so that saying it twice is saying it once."""
    digest = hashlib.sha256(f"{scope}\n{text.strip()}".encode()).hexdigest()
    return f"mem-{digest[:ID_CHARACTERS]}"
