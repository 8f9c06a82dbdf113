"""Built-in tools of a conversation: search memory and messages, zoom, remember, take notes.

The model acts as `agent:thread`, never as the user: what it remembers or proposes is its own claim.
Every note derives from the turn it was made in. The class docstrings are the tool descriptions that
the model reads.
"""

from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from everloop.errors import Invalid, NotFound
from everloop.log import Command, CommandBus, Context, Log
from everloop.log.model.record import to_microseconds
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import Filter, load_viewer
from everloop.memory.projections.status_notes import format_expiry
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.service import MemoryService
from everloop.memory.summaries.zoom import zoom
from everloop.ports import Clock, Tool, ToolCall
from everloop.thread.model.commands import NoteDecision, NoteIntent, NoteTopic, OpenTopic
from everloop.thread.pyramid.timeline import TimelineWindow, ZoomedWindow, zoom_window
from everloop.thread.queries import notes, threads
from everloop.turns.tools import TurnRef, decode_tool_arguments

MODEL_CONTEXT = Context(actor="agent:thread", session="thread")
HITS_MAX = 20
SHOWN = 1_500  # characters of an item


class RecallArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Search all of memory by words and meaning. Dates in the question narrow it."""

    query: str
    limit: Annotated[int, Meta(ge=1, le=HITS_MAX)] = 6


class SearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Search what was said in conversations, word for word."""

    query: str
    limit: Annotated[int, Meta(ge=1, le=HITS_MAX)] = 6


class ZoomArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Look closer at a stretch of the past, such as day:2026-05-17 or month:2026-05, or an item."""

    what: str


class RememberArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keep a fact that will matter later, in one or two sentences."""

    text: str
    title: str = ""


class ProposeLessonArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Propose a lesson: a rule for next time. It is checked before anything relies on it."""

    description: str
    body: str


class DecisionArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Note what was decided, and why."""

    text: str


class TopicArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Open a topic to come back to, or note where an open one stands."""

    title: str
    note: str = ""


class IntentArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Note what is to be done next and was not done yet."""

    text: str


class ExternalTools(Protocol):
    """External tools, such as those of MCP servers."""

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools that are available now."""
        ...

    def run(self, call: ToolCall, stop: Event) -> str:
        """Run a tool and return its result; `stop` cancels it."""
        ...


class NoExternalTools:
    """No external tools."""

    tools: Sequence[Tool] = ()

    def run(self, call: ToolCall, stop: Event) -> str:
        """Raise NotFound: there are no tools."""
        del stop
        raise NotFound(f"no tool {call.name!r}")


ProposeLessonFunction = Callable[[str, str, int], str]


class ThreadTools:
    """The built-in and external tools of a conversation."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        keeper: MemoryService,
        clock: Clock,
        *,
        propose: ProposeLessonFunction | None = None,
        more: ExternalTools | None = None,
    ) -> None:
        self._log, self._bus, self._keeper, self._clock = log, bus, keeper, clock
        self._propose = propose
        self._external: ExternalTools = more or NoExternalTools()
        self._builtin: Mapping[str, tuple[type[Any], Callable[[Any, TurnRef], str]]] = {
            "recall": (RecallArguments, self._recall),
            "search_messages": (SearchArguments, self._search),
            "zoom": (ZoomArguments, self._zoom_in),
            "remember": (RememberArguments, self._remember),
            "note_decision": (DecisionArguments, self._decide),
            "note_topic": (TopicArguments, self._topic),
            "note_intent": (IntentArguments, self._intend),
            **(
                {"propose_lesson": (ProposeLessonArguments, self._propose_lesson)}
                if propose
                else {}
            ),
        }

        self._builtin_tools = [
            Tool(name, str(type_.__doc__), _schema(type_))
            for name, (type_, _) in self._builtin.items()
        ]

    @property
    def tools(self) -> Sequence[Tool]:
        """All tools, the built-in ones first."""
        return [*self._builtin_tools, *self._external.tools]

    def run(self, call: ToolCall, turn: TurnRef, stop: Event) -> str:
        """Run a tool and return its result. `stop` cancels external tools only."""
        if call.name not in self._builtin:
            return self._external.run(call, stop)
        type_, act = self._builtin[call.name]
        return act(decode_tool_arguments(call, type_), turn)

    def _recall(self, asked: RecallArguments, turn: TurnRef) -> str:
        del turn
        return self._recall_lines(SearchQuery(asked.query[:2_000], limit=asked.limit))

    def _search(self, asked: SearchArguments, turn: TurnRef) -> str:
        del turn
        only = Filter(kinds=("message",))
        return self._recall_lines(SearchQuery(asked.query[:2_000], limit=asked.limit, only=only))

    def _recall_lines(self, asked: SearchQuery) -> str:
        answer = self._keeper.recall(OWNER, asked)
        lines = [
            f"{hit.item.happened_at:%Y-%m-%d} ({hit.item.kind}, {hit.item.item_id}"
            f"{format_expiry(hit.item)})"
            f" {hit.item.text[:SHOWN]}"
            for hit in answer.hits
        ]
        return "\n".join([*(lines or ["Nothing was found."]), *answer.notes])

    def _zoom_in(self, asked: ZoomArguments, turn: TurnRef) -> str:
        with self._log.reading(branch=turn.branch) as reader:
            if ":" not in asked.what:
                below = zoom(reader, load_viewer(reader, OWNER), asked.what)
                return "\n".join(
                    f"{one.item.happened_at:%Y-%m-%d} ({one.item.item_id}) {one.item.text[:SHOWN]}"
                    for one in below
                )
            day = threads.time_zones(reader).local_date(to_microseconds(self._clock.now()))
            seen = zoom_window(reader, turn.stream_id, day, asked.what)
        return "\n".join([_headline(seen.band), *map(_headline, seen.below), *_message_lines(seen)])

    def _remember(self, asked: RememberArguments, turn: TurnRef) -> str:
        item = RememberItem(
            self._log.ids.new("mem"),
            asked.text,
            asked.title,
            learned_via="inferred",
            because=(turn.because,),
        )
        kept = self._keeper.remember(item, by=MODEL_CONTEXT, seen_by=OWNER)  # whose model it is
        return f"Kept as {kept.item_id}." if kept.new else f"{kept.item_id} says so already."

    def _propose_lesson(self, asked: ProposeLessonArguments, turn: TurnRef) -> str:
        assert self._propose is not None, "the tool is offered only with it"
        lesson = self._propose(asked.description, asked.body, turn.because)
        return f"Proposed as {lesson}. It is not relied on until it has passed its checks."

    def _decide(self, asked: DecisionArguments, turn: TurnRef) -> str:
        decision = self._log.ids.new("dec")
        self._note(NoteDecision(turn.stream_id, decision, asked.text, "", (turn.because,)), turn)
        return f"Noted as {decision}."

    def _topic(self, asked: TopicArguments, turn: TurnRef) -> str:
        topic = self._open_topic(turn, asked.title)
        if topic is None:
            topic = self._log.ids.new("top")
            opened = OpenTopic(turn.stream_id, topic, asked.title, (turn.because,))
            self._note(opened, turn)
        if asked.note:
            self._note(NoteTopic(turn.stream_id, topic, asked.note, (turn.because,)), turn)
        return f"Noted as {topic}."

    def _open_topic(self, turn: TurnRef, title: str) -> str | None:
        with self._log.reading(branch=turn.branch) as reader:
            topics = notes.notes(reader, turn.stream_id)
        wanted = title.strip().casefold()
        if not wanted:
            raise Invalid("the topic has no title", hint="Give it a title.")
        found = (n.note_id for n in topics if n.sort == "topic" and n.title.casefold() == wanted)
        return next(found, None)

    def _intend(self, asked: IntentArguments, turn: TurnRef) -> str:
        intent = self._log.ids.new("int")
        self._note(NoteIntent(turn.stream_id, intent, asked.text, (turn.because,)), turn)
        return f"Noted as {intent}."

    def _note(self, command: Command, turn: TurnRef) -> None:
        """Record a note on the branch of the answer, even if the thread was switched since."""
        self._bus.do(command, by=MODEL_CONTEXT, branch=turn.branch)


def _headline(band: TimelineWindow) -> str:
    """One line for a window: its key, to zoom further, and its summary."""
    text = band.text[:SHOWN] or f"not summed up ({band.state})"
    return f"[{band.key}] {band.messages} messages: {text}"


def _message_lines(seen: ZoomedWindow) -> list[str]:
    return [
        f"{one.said_at:%Y-%m-%d %H:%M} {one.role} ({one.message_id}): {one.text[:SHOWN]}"
        for one in seen.messages
        if not one.hidden
    ]


def _schema(type_: type[Any]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments: a plain object."""
    schema = msgspec.json.schema(type_)
    inner: dict[str, Any] = schema["$defs"][type_.__name__]
    return {key: value for key, value in inner.items() if key not in ("title", "description")}
