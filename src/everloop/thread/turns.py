"""Turns of conversations: how a thread prepares a prompt and records the steps of an answer."""

import json
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

import msgspec

from everloop.errors import EverloopError, NotFound
from everloop.log import Command, CommandBus, Context, Fact, Log, Receipt
from everloop.log.model.facts import BranchStood, Retracted
from everloop.memory.model.commands import KeepContext, KeepPromptTexts, PromptText
from everloop.memory.model.events import Ledger
from everloop.memory.model.state import PROMPT_TEXTS_FOLD, prompt_texts_stream
from everloop.ports import Ids, Prompt, ToolCall, Usage
from everloop.thread.model.commands import (
    BeginSending,
    BeginStreaming,
    FailTurn,
    GiveAnswer,
    LeaveUncertain,
    RecordReasoning,
    RecordToolUse,
    SaveAnswer,
    StopTurn,
)
from everloop.thread.model.events import (
    AnswerGiven,
    TurnFailed,
    TurnLeftUncertain,
    TurnRecorded,
    TurnStopped,
)
from everloop.thread.model.memory_claims import KEPT_MAX, can_be_kept, claims_to_have_kept
from everloop.thread.model.state import (
    CONVERSATION,
    WAITING,
    Conversation,
    OpenTurn,
    thread_id_of_stream,
    thread_stream,
)
from everloop.thread.queries import threads
from everloop.turns.runner import Turn as RunnableTurn
from everloop.turns.scheduler import Effect
from everloop.turns.settings import AnswerOptions
from everloop.turns.tools import Toolbox, TurnRef
from everloop.usage.recorder import UsageRecorder

CLAIM = "thread.conductor"
ENGINE = Context(actor="engine")
REMEMBER = "remember"
CLAIMED = "claimed"  # the id of a call that the engine made, because the answer claimed it
KEPT_FOR_IT = "The answer claimed this without calling the tool, so Everloop did it."
NOT_KEPT = "The answer claims to have kept something, but no tool was called: nothing was kept."
OFFLINE = "offline"  # the built-in model quotes; what it quotes is no claim of its own
EVENT_FRAME = 200  # bytes of an event besides its text and its owner
_SENT = "SELECT 1 FROM thread_turns WHERE turn_id = ? AND phase = 'sending'"


class PreparedPrompt(msgspec.Struct, frozen=True):
    """A prompt ready to be sent, with its ledger, and the facts that it was made from."""

    prompt: Prompt
    ledger: Ledger
    because: tuple[int, ...] = ()
    texts: tuple[PromptText, ...] = ()


Prepare = Callable[[str, str, str, Toolbox], PreparedPrompt]


class ThreadTurns:
    """The turns of all threads: which wait, and how each is prepared and recorded."""

    claim = CLAIM

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        ids: Ids,
        prepare: Prepare,
        toolbox: Toolbox,
        usage: UsageRecorder,
    ) -> None:
        self.log, self.bus, self.ids = log, bus, ids
        self.prepare, self.toolbox, self.usage = prepare, toolbox, usage
        self.scheduler = ids.new("conductor")  # this process, as `TurnSending` names it

    def streams(self) -> Iterable[str]:
        """The threads in which turns may wait."""
        with self.log.reading() as reader:
            return threads.threads_with_turns(reader)

    def current_branch(self, stream_id: str) -> str | None:
        """The branch that a thread is on."""
        tree = thread_stream(stream_id)
        return self.log.branches.current_branch_of(tree).name if tree in self.log.branches else None

    def next_turn(
        self, stream_id: str, branch: str, running: Callable[[str], bool]
    ) -> RunnableTurn | None:
        """The turn to run next. One that was sent before, and not by us now, is ended here."""
        known = self._state(stream_id, branch)
        while known is not None and known.turns:
            ended = self._end_of(stream_id, known, running)
            if ended is None:
                break
            self.bus.do(ended, by=ENGINE, branch=branch)
            known = self._state(stream_id, branch)
        turn = known.next_turn if known is not None else None
        return ThreadTurn(self, stream_id, turn, branch) if turn is not None else None

    def is_gone(self, turn: RunnableTurn) -> bool:
        """Whether the message that a turn answers was retracted."""
        known = self._state(turn.stream_id, turn.branch)
        return known is None or known.turn(turn.turn_id) is None

    def effect(self, fact: Fact) -> Effect | None:
        """What a fact means for turns: another one waits, one was stopped, a branch changed."""
        match fact.event:
            case TurnRecorded(thread_id=thread_id):
                return Effect(look=thread_id)
            case TurnStopped(thread_id=thread_id, turn_id=turn_id):
                return Effect(look=thread_id, stop=turn_id)
            case AnswerGiven() | TurnFailed() | TurnLeftUncertain() as ended:
                return Effect(look=ended.thread_id)
            case BranchStood(branch=branch):
                return Effect(look=thread_id_of_stream(self.log.branches[branch].root))
            case Retracted():
                return Effect(look_everywhere=True)
            case _:
                return None

    def _end_of(
        self, thread_id: str, known: Conversation, running: Callable[[str], bool]
    ) -> Command | None:
        """How the first turn of a branch ends if it was sent before; None if it was not.

        It may have been sent on another branch, after this one had left that.
        """
        first = known.turns[0]
        if first.phase != WAITING:
            return LeaveUncertain(thread_id, first.turn_id)
        if running(first.turn_id) or self._was_sent(first.turn_id):
            return StopTurn(thread_id, first.turn_id)
        return None

    def _was_sent(self, turn_id: str) -> bool:
        with self.log.file.reading() as everywhere:
            return bool(everywhere.rows(_SENT, (turn_id,)))

    def _state(self, thread_id: str, branch: str) -> Conversation | None:
        return self.log.state(CONVERSATION, thread_stream(thread_id), branch=branch)


class ThreadTurn:
    """One turn of a thread."""

    def __init__(self, source: ThreadTurns, thread_id: str, turn: OpenTurn, branch: str) -> None:
        self.stream_id, self.branch = thread_id, branch
        self._source, self._turn = source, turn
        self._prepared: PreparedPrompt | None = None
        self._kept = False  # whether a tool kept something in this turn

    @property
    def turn_id(self) -> str:
        """Its id."""
        return self._turn.turn_id

    @property
    def options(self) -> AnswerOptions:
        """How the answer is wanted."""
        return self._turn.options

    def prepare(self) -> Prompt:
        """Assemble the prompt."""
        source = self._source
        self._prepared = source.prepare(self.stream_id, self.turn_id, self.branch, source.toolbox)
        return self._prepared.prompt

    def begin(self, model: str) -> bool:
        """Record the prompt's ledger and that it is sent."""
        assert self._prepared is not None, "prepared before it is sent"
        source, prepared = self._source, self._prepared
        context_id = source.ids.new("ctx")
        texts = self._keep_texts(prepared.texts)
        context = KeepContext(context_id, prepared.ledger, prepared.because, texts)
        kept = source.bus.do(context, by=ENGINE)
        sending = BeginSending(
            self.stream_id,
            self.turn_id,
            source.ids.new("msg"),
            model,
            context_id,
            source.scheduler,
            (kept.position,),
        )
        return bool(self._record(sending).facts)

    def _keep_texts(self, texts: tuple[PromptText, ...]) -> dict[str, int]:
        """Store the texts of the prompt, except what is too long for a fact; their positions."""
        source, owner = self._source, self.stream_id
        most = source.log.limits.event_bytes_max - len(owner) - EVENT_FRAME
        fitting = tuple(one for one in texts if len(msgspec.json.encode(one.text)) <= most)
        source.bus.do(KeepPromptTexts(owner, fitting), by=ENGINE)
        kept = source.log.state(PROMPT_TEXTS_FOLD, prompt_texts_stream(owner))
        newest = kept.newest if kept is not None else {}
        return {one.name: newest[one.name][0] for one in fitting if one.name in newest}

    def begin_streaming(self) -> None:
        """Record that the first text arrived."""
        self._record(BeginStreaming(self.stream_id, self.turn_id))

    def save(self, text: str) -> None:
        """Record more of a long answer."""
        self._record(SaveAnswer(self.stream_id, self.turn_id, text))

    def call_tool(self, call: ToolCall, stop: threading.Event) -> str:
        """Call a tool for this turn."""
        where = TurnRef(self.stream_id, self.branch, self._turn.position)
        return self._source.toolbox.run(call, where, stop)

    def record_tool(self, call: ToolCall, result: str, *, failed: bool) -> None:
        """Record a tool call with its result."""
        arguments = json.dumps(call.arguments, ensure_ascii=False, sort_keys=True)
        self._kept = self._kept or (call.name == REMEMBER and not failed)
        self._record(
            RecordToolUse(
                self.stream_id, self.turn_id, call.id, call.name, arguments, result, failed
            )
        )

    def record_reasoning(self, text: str) -> None:
        """Record what the model thought before it answered."""
        self._record(RecordReasoning(self.stream_id, self.turn_id, text))

    def record_usage(self, usage: Usage, duration_s: float) -> None:
        """Record what a call of the model cost."""
        self._source.usage.record(
            "answer",
            usage,
            duration_s=duration_s,
            turn_id=self.turn_id,
            because=(self._turn.position,),
        )

    def finish(self, text: str, model: str, reason: str) -> None:
        """Record the whole answer. What it claims to have kept is kept, or the claim is marked."""
        if not self._kept and model != OFFLINE and claims_to_have_kept(text):
            self._keep_claimed()
        self._record(GiveAnswer(self.stream_id, self.turn_id, text, model, reason))

    def _keep_claimed(self) -> None:
        """Keep the message that the answer claims to have noted, as the tool would have."""
        source = self._source
        with source.log.reading(branch=self.branch) as reader:
            asked = threads.find_message(reader, self._turn.message_id).text
        call = ToolCall(CLAIMED, REMEMBER, {"text": asked.strip()[:KEPT_MAX]})
        if not can_be_kept(asked):
            self.record_tool(call, NOT_KEPT, failed=True)
            return
        try:
            result = self.call_tool(call, threading.Event())
        except EverloopError as problem:
            self.record_tool(call, f"{NOT_KEPT} {problem}", failed=True)
        else:
            self.record_tool(call, f"{result} {KEPT_FOR_IT}", failed=False)

    def stop(self, text: str) -> None:
        """Record that it was stopped, with the text so far."""
        self._record_end(StopTurn(self.stream_id, self.turn_id, text))

    def fail(self, text: str, reason: str, hint: str) -> None:
        """Record that it failed, with the text so far."""
        self._record_end(FailTurn(self.stream_id, self.turn_id, text, reason, hint))

    def _record_end(self, command: Command) -> None:
        with suppress(NotFound):  # the thread was deleted, and the turn with it
            self._record(command)

    def _record(self, command: Command) -> Receipt:
        return self._source.bus.do(command, by=ENGINE, branch=self.branch)
