"""Answering one turn: the prompt goes to the model, its words come back, tools are run between.

What happens is recorded as it happens: that the prompt goes out, before it does; that words come;
what a long answer has come to; what each tool was asked and gave; how it ended, and what it cost.
"""

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from everloop.errors import EverloopError, ModelFailed
from everloop.log import Command, Context, Receipt
from everloop.memory.model.commands import KeepContext
from everloop.memory.model.events import Ledger
from everloop.ports import (
    Clock,
    Delta,
    Finish,
    Ids,
    Message,
    Model,
    Params,
    Prompt,
    Stream,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
)
from everloop.thread.model.commands import (
    BeginSending,
    BeginStreaming,
    FailTurn,
    GiveAnswer,
    RecordModelCall,
    RecordToolUse,
    SaveAnswer,
    StopTurn,
)
from everloop.thread.model.state import Turn
from everloop.thread.settings import Answering
from everloop.thread.turns.live import Live

ENGINE = Context(actor="engine")
RESULT_MAX = 20_000  # characters of a tool's result that a model is given and the log keeps
UNEXPECTED = "Try again, or choose another model. If it happens again, report it."


class Prepared(msgspec.Struct, frozen=True):
    """A prompt ready to be sent, with its ledger, and the facts that it was made from."""

    prompt: Prompt
    ledger: Ledger
    because: tuple[int, ...] = ()


class Place(msgspec.Struct, frozen=True):
    """Where an answer is given: the thread, the branch it stood on, and where its turn began."""

    thread_id: str
    branch: str
    because: int


class Toolbox(Protocol):
    """What a model may use while it answers."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What there is."""
        ...

    def run(self, call: ToolCall, place: "Place", stop: threading.Event) -> str:
        """What a tool gives to the turn that it is run for, unless it is stopped meanwhile.

        Raises:
            EverloopError: it gives nothing; the model is told why.
        """
        ...


class Do(Protocol):
    """Carries out a command: an engine's `do`."""

    def __call__(
        self,
        command: Command,
        *,
        by: Context,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """Return when what it led to is durable."""
        ...


@dataclass(frozen=True)
class Means:
    """What it takes to answer: how to record, what to read, where words go, what may be used."""

    do: Do
    clock: Clock
    ids: Ids
    toolbox: Toolbox
    limits: Answering = field(default_factory=Answering)
    live: Live = field(default_factory=Live)


class Answer:
    """One turn on its way. `stop` may come from any thread."""

    def __init__(
        self, means: Means, model: Callable[[], Model], thread_id: str, turn: Turn, branch: str
    ) -> None:
        self.turn = turn
        self.branch = branch  # the thread may stand elsewhere before the answer is there
        self.thread_id = thread_id
        self._means = means
        self._find_model = model
        self._text = ""
        self._apart = False  # what comes next is a paragraph of its own
        self._saved = 0
        self._saved_at = 0.0
        self._unsettled = ""  # the model that has given words and not yet said what they took
        self._stream: Stream | None = None
        self._stopped = threading.Event()

    def run(self, prepare: Callable[[], Prepared], conductor: str) -> None:
        """See the turn through to its end, whatever that is."""
        try:
            model, prepared = self._find_model(), prepare()
            if self._stopped.is_set():
                self._stop()
            elif self._send(model, prepared, conductor):
                self._converse(model, prepared.prompt)
        except BaseException as problem:  # noqa: BLE001 - whatever an adapter does, a turn ends
            self._break_off(problem)
        finally:
            self._means.live.end(self.turn.turn_id)
            self._settle()

    def stop(self) -> None:
        """End it now; what came is kept."""
        self._stopped.set()
        self._close()

    def _break_off(self, problem: BaseException) -> None:
        """End it after an error: as stopped if that was asked for, else as failed, in words."""
        if self._stopped.is_set():
            self._stop()
        elif isinstance(problem, EverloopError):
            self._fail(str(problem), problem.hint)
        else:
            self._fail(f"an unexpected error, {type(problem).__name__}: {problem}", UNEXPECTED)

    def _stop(self) -> None:
        self._record(StopTurn(self.thread_id, self.turn.turn_id, self._text))

    def _send(self, model: Model, prepared: Prepared, conductor: str) -> bool:
        """Take the turn. False: someone else has it, or it was stopped while it waited."""
        context_id = self._means.ids.new("ctx")
        kept = self._means.do(KeepContext(context_id, prepared.ledger, prepared.because), by=ENGINE)
        sending = BeginSending(
            self.thread_id,
            self.turn.turn_id,
            self._means.ids.new("msg"),
            model.name,
            context_id,
            conductor,
            (kept.position,),
        )
        taken = bool(self._record(sending).facts)
        if taken:
            self._means.live.begin(self.thread_id, self.turn.turn_id)
            self._saved_at = self._now()
        return taken

    def _converse(self, model: Model, prompt: Prompt) -> None:
        messages, finish = list(prompt.messages), Finish("stop")
        for round_ in range(self._means.limits.tool_rounds_max + 1):
            tools = prompt.tools if round_ < self._means.limits.tool_rounds_max else ()
            asked = msgspec.structs.replace(prompt, messages=tuple(messages), tools=tools)
            began = len(self._text)
            calls, finish = self._listen(model, asked)
            if self._stopped.is_set() or finish.reason != "tools" or not calls:
                break
            messages += self._use(calls, self._text[began:])
        if self._stopped.is_set():
            self._stop()
            return
        answer = GiveAnswer(
            self.thread_id, self.turn.turn_id, self._text, model.name, finish.reason
        )
        self._record(answer)

    def _listen(self, model: Model, prompt: Prompt) -> tuple[list[ToolCall], Finish]:
        """Take in one stream of the model to its end. Once it was stopped, nothing is asked."""
        began, calls, finish = self._now(), list[ToolCall](), Finish("stop")
        if self._stopped.is_set():
            return calls, finish
        params = Params(
            tokens_max=self._means.limits.tokens_max, timeout_s=self._means.limits.silence_s
        )
        self._stream = model.generate(prompt, params)
        try:
            if self._stopped.is_set():  # it came while the stream was being made
                return calls, finish
            for chunk in self._stream:
                match chunk:
                    case Delta(text=text):
                        self._unsettled = model.name
                        self._say(text)
                    case ToolCall():
                        calls.append(chunk)
                    case Usage():
                        self._spent(chunk, self._now() - began)
                    case Finish():
                        finish = chunk
                if len(self._text) >= self._means.limits.characters_max:
                    return [], Finish("length")
        finally:
            self._close()
        return calls, finish

    def _close(self) -> None:
        """End the stream, if there is one. What it says to that is no news: it is over anyhow."""
        with suppress(Exception):
            if self._stream is not None:
                self._stream.close()

    def _say(self, text: str) -> None:
        """Take in words. No words are no news: whoever watches takes them for the end."""
        text = _whole(text)[: max(0, self._means.limits.characters_max - len(self._text))]
        if not text:
            return
        if not self._text:
            self._record(BeginStreaming(self.thread_id, self.turn.turn_id))
        if self._apart:
            self._apart, text = False, f"\n\n{text}"
        self._text += text
        self._means.live.say(self.turn.turn_id, text)
        if self._now() - self._saved_at >= self._means.limits.save_every_s:
            self._save()

    def _save(self) -> None:
        new = self._text[self._saved :]
        self._record(SaveAnswer(self.thread_id, self.turn.turn_id, new))
        self._saved, self._saved_at = len(self._text), self._now()

    def _use(self, calls: Sequence[ToolCall], said: str) -> list[Message]:
        """Run tools; the messages that tell the model what it said and what they gave."""
        results: list[ToolResult] = []
        for call in calls:
            if self._stopped.is_set():
                break
            text, failed = self._run_tool(call)
            results.append(ToolResult(call.id, text, failed))
            used = RecordToolUse(
                self.thread_id,
                self.turn.turn_id,
                call.id,
                call.name,
                json.dumps(call.arguments, ensure_ascii=False, sort_keys=True),
                text,
                failed,
            )
            self._record(used)
        self._apart = bool(self._text) and not self._text.endswith("\n\n")
        words = (Text(said),) if said else ()
        return [Message("assistant", (*words, *calls)), Message("user", tuple(results))]

    def _run_tool(self, call: ToolCall) -> tuple[str, bool]:
        try:
            place = Place(self.thread_id, self.branch, self.turn.position)
            result = self._means.toolbox.run(call, place, self._stopped)
        except EverloopError as problem:
            return _cut(_whole(f"{problem} {problem.hint}".strip())), True
        return _cut(_whole(result)), False

    def _spent(self, usage: Usage, duration_s: float) -> None:
        self._unsettled = ""
        call = RecordModelCall(
            "answer",
            usage.model,
            usage.tokens_in,
            usage.tokens_out,
            -1.0 if usage.cost_usd is None else usage.cost_usd,
            round(duration_s, 3),
            self.turn.turn_id,
            (self.turn.position,),
        )
        self._means.do(call, by=ENGINE)

    def _settle(self) -> None:
        """Record a call that was broken off: that it was made is known, and no more."""
        if self._unsettled:
            with suppress(EverloopError):  # the turn was taken back, and its costs with it
                self._spent(Usage(self._unsettled, 0, 0), 0.0)

    def _fail(self, reason: str, hint: str) -> None:
        failed = FailTurn(self.thread_id, self.turn.turn_id, self._text, _whole(reason), hint)
        self._record(failed)

    def _record(self, command: Command) -> Receipt:
        return self._means.do(command, by=ENGINE, branch=self.branch)

    def _now(self) -> float:
        return self._means.clock.now().timestamp()


def _whole(text: str) -> str:
    """A text without halves of characters, which no log can keep."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _cut(result: str) -> str:
    """As much of a result as is kept, and whether there was more."""
    if len(result) <= RESULT_MAX:
        return result
    return f"{result[:RESULT_MAX]}\n(cut: it has {len(result):,} characters)"


def arguments_of(call: ToolCall, type_: type[Any]) -> Any:
    """The arguments of a call, as a value.

    Raises:
        ModelFailed: they do not fit.
    """
    try:
        return msgspec.convert(call.arguments, type_)
    except msgspec.ValidationError as problem:
        raise ModelFailed(f"{call.name}: {problem}", hint="Call it again.") from problem
