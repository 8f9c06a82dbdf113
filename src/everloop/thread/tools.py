"""Built-in tools of a conversation: search memory and messages, zoom, keep facts and notes.

The model acts as `agent:thread`, never as the user: what it remembers or proposes is its own claim.
Every note derives from the turn it was made in. The class docstrings are the tool descriptions that
the model reads.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Event
from typing import Annotated, Any, Literal, Protocol

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.log import Command, CommandBus, Context, Log
from everloop.log.model.record import to_microseconds
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import find_item, load_viewer
from everloop.memory.projections.status_notes import format_expiry
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.service import MemoryService
from everloop.memory.summaries.zoom import zoom
from everloop.ports import Clock, Tool, ToolCall
from everloop.thread.model.commands import NoteDecision, NoteIntent, NoteTopic, OpenTopic
from everloop.thread.prompt.sections import provenances
from everloop.thread.pyramid.timeline import TimelineWindow, ZoomedWindow, zoom_window
from everloop.thread.queries import notes, threads
from everloop.thread.quoting import collapse_whitespace
from everloop.turns.tools import TurnRef, decode_tool_arguments

MODEL_CONTEXT = Context(actor="agent:thread", session="thread")
HITS = 8
SHOWN = 1_500  # characters of an item


class RecallArguments(msgspec.Struct, frozen=True):
    """Search memory and all that was ever said. Dates in the query narrow it."""

    query: str


class ZoomArguments(msgspec.Struct, frozen=True):
    """Open a summarised time, such as day:2026-05-17 or month:2026-05, or a memory by its id."""

    what: str


class RememberArguments(msgspec.Struct, frozen=True):
    """Keep something for later: a fact, decision, open topic, intent (still to do) or rule."""

    text: str
    kind: Literal["fact", "decision", "topic", "intent", "rule"] = "fact"
    title: str = ""


class ProposeTaskArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Propose work for a background agent, such as a change in a repository. The user starts it."""

    title: str
    brief: str
    repository: Annotated[
        str,
        msgspec.Meta(
            description="Absolute path of the git repository it is about, or its name if a task"
            " worked there before. Never leave it out for work on code."
        ),
    ] = ""
    plan_first: bool = True
    check: Annotated[
        str,
        msgspec.Meta(
            description="Command that shows whether it is done, such as `pytest -q`. It runs"
            " afterwards, outside the worker."
        ),
    ] = ""


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
ProposeTaskFunction = Callable[[ProposeTaskArguments, TurnRef], str]


class ThreadTools:
    """The built-in and external tools of a conversation."""

    def __init__(  # noqa: PLR0913 - one function for each thing that a model may propose
        self,
        log: Log,
        bus: CommandBus,
        keeper: MemoryService,
        clock: Clock,
        *,
        propose: ProposeLessonFunction | None = None,
        propose_task: ProposeTaskFunction | None = None,
        more: ExternalTools | None = None,
    ) -> None:
        self._log, self._bus, self._keeper, self._clock = log, bus, keeper, clock
        self._propose, self._task_proposer = propose, propose_task
        self._external: ExternalTools = more or NoExternalTools()
        self._builtin: Mapping[str, tuple[type[Any], Callable[[Any, TurnRef], str]]] = {
            "recall": (RecallArguments, self._recall),
            "zoom": (ZoomArguments, self._zoom_in),
            "remember": (RememberArguments, self._remember),
            **(
                {"propose_task": (ProposeTaskArguments, self._propose_task)} if propose_task else {}
            ),
        }
        self._keep: Mapping[str, Callable[[RememberArguments, TurnRef], str]] = {
            "fact": self._remember_fact,
            "decision": self._note_decision,
            "topic": self._note_topic,
            "intent": self._note_intent,
            "rule": self._propose_rule,
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
        answer = self._keeper.recall(OWNER, SearchQuery(asked.query[:2_000], limit=HITS))
        found = [hit.item for hit in answer.hits]
        with self._log.reading(branch=turn.branch) as reader:
            lines = [
                f"{item.happened_at:%Y-%m-%d} ({who}, {item.item_id}{format_expiry(item)})"
                f" {item.text[:SHOWN]}"
                for item, who in zip(found, provenances(reader, found), strict=True)
            ]
        return "\n".join([*(lines or ["Memory was searched; nothing fits."]), *answer.notes])

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
        return self._keep[asked.kind](asked, turn)

    def _remember_fact(self, asked: RememberArguments, turn: TurnRef) -> str:
        item = RememberItem(
            self._log.ids.new("mem"),
            asked.text,
            asked.title,
            learned_via="told" if self._was_said(asked.text, turn) else "inferred",
            because=(turn.because,),
        )
        kept = self._keeper.remember(item, by=MODEL_CONTEXT, seen_by=OWNER)  # whose model it is
        if not kept.new:
            return f"{kept.item_id} says so already."
        return "\n".join([f"Kept as {kept.item_id}.", *self._contradicted(kept.contradicts)])

    def _contradicted(self, item_ids: Sequence[str]) -> Iterator[str]:
        """A line for each item that a new one contradicts."""
        with self._log.reading() as reader:
            who = load_viewer(reader, OWNER)
            items = [find_item(reader, who, item_id) for item_id in item_ids]
        for item in items:
            day = f"{item.happened_at:%Y-%m-%d}"
            yield f"It contradicts what was kept on {day}: “{item.text[:SHOWN]}”"

    def _was_said(self, text: str, turn: TurnRef) -> bool:
        """Whether the message that a turn answers has these words."""
        with self._log.reading(branch=turn.branch) as reader:
            said = threads.find_message(reader, threads.question_at(reader, turn.because)).text
        return collapse_whitespace(text).casefold() in collapse_whitespace(said).casefold()

    def _propose_rule(self, asked: RememberArguments, turn: TurnRef) -> str:
        if self._propose is None:
            raise Invalid("there are no rules here", hint="Keep it as a fact.")
        lesson = self._propose(asked.title or asked.text, asked.text, turn.because)
        return f"Proposed as {lesson}. It is not relied on until it has passed its checks."

    def _propose_task(self, asked: ProposeTaskArguments, turn: TurnRef) -> str:
        assert self._task_proposer is not None, "the tool is offered only with it"
        task = self._task_proposer(asked, turn)
        return f"Proposed as {task}. It starts only if the user says so, in the inbox."

    def _note_decision(self, asked: RememberArguments, turn: TurnRef) -> str:
        decision = self._log.ids.new("dec")
        self._note(NoteDecision(turn.stream_id, decision, asked.text, "", (turn.because,)), turn)
        return f"Noted as {decision}."

    def _note_topic(self, asked: RememberArguments, turn: TurnRef) -> str:
        title = asked.title or asked.text
        topic = self._open_topic(turn, title)
        if topic is None:
            topic = self._log.ids.new("top")
            self._note(OpenTopic(turn.stream_id, topic, title, (turn.because,)), turn)
        if asked.title and asked.text:
            self._note(NoteTopic(turn.stream_id, topic, asked.text, (turn.because,)), turn)
        return f"Noted as {topic}."

    def _open_topic(self, turn: TurnRef, title: str) -> str | None:
        with self._log.reading(branch=turn.branch) as reader:
            topics = notes.list_notes(reader, turn.stream_id)
        wanted = title.strip().casefold()
        if not wanted:
            raise Invalid("the topic has no title", hint="Give it a title.")
        found = (n.note_id for n in topics if n.sort == "topic" and n.title.casefold() == wanted)
        return next(found, None)

    def _note_intent(self, asked: RememberArguments, turn: TurnRef) -> str:
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
    return {key: value for key, value in inner.items() if key in ("type", "properties", "required")}
