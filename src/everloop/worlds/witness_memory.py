"""What people of a world remember: memory items in the world's scope, with witnesses as audience.

Recall asks as one witness, so what that person did not witness is not found, ranked or counted. The
items are in no other search: see `everloop.memory.model.scopes`.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import msgspec

from everloop.errors import NotFound, Rejected
from everloop.log import Command, CommandBus, Context, Log, Reader
from everloop.log.idempotency import first_result, step_request_id
from everloop.memory.model.commands import PinItem, RateItem, RememberItem, UnpinItem
from everloop.memory.model.events import Origin
from everloop.memory.model.scopes import OWNER, WORLD_PREFIX, Viewer
from everloop.memory.projections.queries import Filter, Item, find_item, list_items
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.service import MemoryService
from everloop.memory.token_counts import estimate_tokens
from everloop.worlds.message_parsing import told_text
from everloop.worlds.model.state import World
from everloop.worlds.model.values import NARRATOR, PLAYER
from everloop.worlds.prompt.point_of_view import KnownText, PointOfView
from everloop.worlds.settings import WorldSettings

ENGINE = Context(actor="engine")
HOST = "world"
LINE, GIST, FACT, EVENT = "line", "gist", "fact", "event"
SCENE, OFFSTAGE = "scene", "offstage"
IN_SIGHT = 20  # newest messages of the dialogue; what is remembered of them is not repeated
SPARE = 3  # hits that are asked for beyond those that are wanted
CUE_MAX = 2_000  # characters of a cue
EVERY_WORLD = f"{WORLD_PREFIX}*"


def principal(world_id: str, who: str) -> str:
    """How memory names someone of a world. A character is the same one in every world."""
    return f"player:{world_id}" if who == PLAYER else f"character:{who}"


def world_scope(world_id: str) -> str:
    """The scope of a world's memories."""
    return f"{WORLD_PREFIX}{world_id}"


def new_memory(  # noqa: PLR0913 - all but three are named
    world_id: str,
    item_id: str,
    text: str,
    *,
    kind: str,
    witnesses: Iterable[str],
    clock: str,
    scene_id: str = "",
    because: tuple[int, ...],
) -> RememberItem:
    """The command that stores a memory for its witnesses."""
    return RememberItem(
        item_id=item_id,
        text=text,
        kind=kind,
        scope=world_scope(world_id),
        witnesses=tuple(principal(world_id, who) for who in witnesses),
        origin=Origin(host=HOST, session=scene_id or world_id),
        learned_via="saw",
        happened_at=clock,
        because=because,
    )


class WorldMemory(msgspec.Struct, frozen=True):
    """A memory of people of a world: who has it, where it is from, and how much it matters."""

    item_id: str
    text: str
    kind: str
    clock: datetime
    witnesses: tuple[str, ...]
    scene_id: str = ""
    message_id: str = ""
    significance: int = 0
    pinned: bool = False


class WitnessMemory:
    """Recalls and lists what people of worlds remember."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        memory: Callable[[], MemoryService],
        settings: WorldSettings,
    ) -> None:
        self._log, self._bus, self._memory, self._settings = log, bus, memory, settings

    def recall(self, view: PointOfView, cue: str, *, branch: str | None) -> list[KnownText]:
        """What someone remembers about a cue, the best first, beyond what they just heard."""
        most = self._settings.memories
        if not cue.strip() or not most or view.who == NARRATOR:
            return []
        asked = SearchQuery(cue[:CUE_MAX], limit=most + IN_SIGHT + SPARE, weak=True)
        now = datetime.fromisoformat(view.world.clock)
        found = self._memory().recall_as(self._viewer(view), asked, now=now, branch=branch)
        recent = view.messages[-IN_SIGHT:]
        heard = {one.message_id for one in recent} | {told_text(one.passages) for one in recent}
        known = {one.text for one in (*view.summaries, *view.offstage)}
        recalled: list[KnownText] = []
        for hit in found.hits:
            item = hit.item
            line = item.text.partition(": ")[2] if item.kind == LINE else ""
            if not heard.isdisjoint((message_of(item.item_id), line)) or item.text in known:
                continue
            text = self._passage(item, cue)
            # A line is in the summary of its scene, too, and in a copy of the world.
            if not any(text in one.text or one.text in text for one in recalled):
                recalled.append(KnownText(text, (item.position,), item.item_id))
            if len(recalled) == most:
                break
        return recalled

    def search(self, world_id: str, world: World, who: str, cue: str, most: int) -> list[str]:
        """What someone of a world remembers about a cue, of this world alone."""
        viewer = Viewer(principal(world_id, who), (world_scope(world_id),))
        asked = SearchQuery(cue[:CUE_MAX], limit=most)
        now = datetime.fromisoformat(world.clock)
        found = self._memory().recall_as(viewer, asked, now=now)
        return [hit.item.text for hit in found.hits]

    def of(self, world_id: str, who: str = "", *, limit: int = 50, offset: int = 0) -> list[Item]:
        """What is remembered in a world, newest first: all of it, or by one person."""
        scope = world_scope(world_id)
        viewer = Viewer(principal(world_id, who), (scope,)) if who else Viewer(OWNER, (scope,))
        with self._log.reading() as reader:
            only = Filter(scopes=(scope,))
            return list_items(reader, viewer, only, limit=limit, offset=offset)

    def listed(
        self, world_id: str, who: str = "", *, limit: int = 50, offset: int = 0
    ) -> list[WorldMemory]:
        """What is remembered in a world, newest first, with its witnesses as people of it."""
        return [
            listed_memory(world_id, one)
            for one in self.of(world_id, who, limit=limit, offset=offset)
        ]

    def pin(self, world_id: str, item_id: str, by: Context, *, pinned: bool) -> WorldMemory:
        """Pin a memory of a world, or take its pin away.

        Raises:
            NotFound: the world has no such memory.
        """
        with self._log.reading() as reader:
            _find(reader, world_id, item_id)
        command = PinItem(item_id) if pinned else UnpinItem(item_id)
        self._bus.do(command, by=by, request_id=step_request_id(by))
        with self._log.reading() as reader:
            return listed_memory(world_id, _find(reader, world_id, item_id))

    def rate_in(
        self, world_id: str, item_ids: Sequence[str], significance: int, by: Context
    ) -> int:
        """Rate memories of one world; returns how many there were.

        Raises:
            NotFound: one of them is not of this world.
        """
        with self._log.reading() as reader:
            for item_id in item_ids:
                _find(reader, world_id, item_id)
        if first_result(self._log, by) is None:
            *first, last = (RateItem(item_id, significance) for item_id in item_ids)
            self._bus.do_many(first, by=by)
            self._bus.do(last, by=by, request_id=step_request_id(by))
        return len(item_ids)

    def store(self, items: Sequence[RememberItem], significance: int = 0) -> None:
        """Store memories, each with its significance."""
        commands: list[Command] = list(items)
        if significance:
            commands += [RateItem(item.item_id, significance) for item in items]
        if commands:
            self._bus.do_many(commands, by=ENGINE)

    def rate(self, item_ids: Sequence[str], significance: int, by: Context) -> int:
        """Rate many memories at once; returns how many there were."""
        rated = 0
        for item_id in item_ids:
            try:
                self._bus.do(RateItem(item_id, significance), by=by)
            except Rejected:
                continue
            rated += 1
        return rated

    def _passage(self, item: Item, cue: str) -> str:
        """What a prompt is told of a memory; of a line always who said it."""
        from everloop.worlds.prompt.recalled_passage import recalled_passage  # noqa: PLC0415 - numpy

        most = self._settings.memory_tokens
        if item.kind != LINE:
            return recalled_passage(item.text, cue, most, estimate_tokens)
        speaker, colon, line = item.text.partition(": ")
        return f"{speaker}{colon}{recalled_passage(line, cue, most, estimate_tokens)}"

    def _viewer(self, view: PointOfView) -> Viewer:
        across = self._settings.memory_across_worlds and view.who != PLAYER
        scope = EVERY_WORLD if across else world_scope(view.world_id)
        return Viewer(principal(view.world_id, view.who), (scope,))


def _find(reader: Reader, world_id: str, item_id: str) -> Item:
    viewer = Viewer(OWNER, (world_scope(world_id),))
    try:
        found = find_item(reader, viewer, item_id)
    except NotFound:
        found = None
    if found is None or found.scope != world_scope(world_id):
        raise NotFound(f"no memory {item_id!r} in this world", hint="List its memories.")
    return found


def listed_memory(world_id: str, item: Item) -> WorldMemory:
    """A memory with its witnesses as people of the world."""
    scene = item.origin.session if item.origin.session != world_id else ""
    return WorldMemory(
        item.item_id,
        item.text,
        item.kind,
        item.happened_at,
        tuple(_person(one) for one in item.witnesses),
        scene,
        message_of(item.item_id),
        item.significance,
        item.pinned,
    )


def _person(named: str) -> str:
    """Who of a world memory names so."""
    kind, _, name = named.partition(":")
    return PLAYER if kind == "player" else name


def memory_id(new_id: str, message_id: str) -> str:
    """The id of a memory of a message."""
    return f"{new_id}.{message_id}"


def event_memory_id(position: int) -> str:
    """The id of the memory of an event that was completed at a position: there is one of each."""
    return f"mem-event-{position}"


def message_of(item_id: str) -> str:
    """The message that a memory is of; empty if it is of none."""
    return item_id.partition(".")[2]
