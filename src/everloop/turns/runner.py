"""The turn runner: sends a prompt to a model, streams the answer, and calls tools in between.

Every step is recorded as it happens: that the prompt is sent, before it is; that text arrives; what
a long answer has come to; each tool call with its result; how it ended, and what it cost. What is
recorded, and in which stream, is the domain's: it gives a `Turn`.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from everloop.errors import EverloopError
from everloop.ports import (
    Clock,
    Delta,
    EstimatingModel,
    Finish,
    Message,
    Model,
    Params,
    PreloadableModel,
    Prompt,
    Reasoning,
    Stream,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from everloop.tracing import Span, span
from everloop.turns.live import LiveAnswers
from everloop.turns.settings import AnswerOptions, TurnSettings

RESULT_MAX = 20_000  # characters of a tool's result that a model is given and the log keeps
UNEXPECTED = "Try again, or choose another model. If it happens again, report it."


class Turn(Protocol):
    """One turn of a domain: how its prompt is made, and how its steps are recorded."""

    @property
    def turn_id(self) -> str:
        """Its id."""
        ...

    @property
    def stream_id(self) -> str:
        """The conversation or world that it belongs to."""
        ...

    @property
    def branch(self) -> str:
        """The branch it was asked on. The stream may be on another one before it ends."""
        ...

    @property
    def options(self) -> AnswerOptions:
        """How the answer is wanted."""
        ...

    def prepare(self) -> Prompt:
        """Assemble the prompt.

        Raises:
            Invalid: it does not fit.
        """
        ...

    def begin(self, model: str) -> bool:
        """Record that it is sent. False: another process has it, or it was stopped."""
        ...

    def begin_streaming(self) -> None:
        """Record that the first text arrived."""
        ...

    def save(self, text: str) -> None:
        """Record more of a long answer."""
        ...

    def call_tool(self, call: ToolCall, stop: threading.Event) -> str:
        """Call a tool; returns its result.

        Raises:
            EverloopError: it failed; the model is told why.
        """
        ...

    def record_tool(self, call: ToolCall, result: str, *, failed: bool) -> None:
        """Record a tool call with its result."""
        ...

    def record_reasoning(self, text: str) -> None:
        """Record what the model thought before it answered."""
        ...

    def record_usage(self, usage: Usage, duration_s: float) -> None:
        """Record what a call of the model cost."""
        ...

    def finish(self, text: str, model: str, reason: str) -> None:
        """Record the whole answer."""
        ...

    def stop(self, text: str) -> None:
        """Record that it was stopped, with the text so far."""
        ...

    def fail(self, text: str, reason: str, hint: str) -> None:
        """Record that it failed, with the text so far."""
        ...


class TurnRunner:
    """Runs one turn. `stop` may be called from any thread."""

    def __init__(
        self,
        turn: Turn,
        model: Callable[[str], Model],
        clock: Clock,
        limits: TurnSettings,
        live: LiveAnswers,
    ) -> None:
        self.turn = turn
        self._find_model, self._clock, self._limits, self._live = model, clock, limits, live
        self._text = ""
        self._thought = ""
        self._new_paragraph = False  # before the next text: tools were called in between
        self._saved = 0
        self._saved_at = 0.0
        self._unbilled: Callable[[], Usage] | None = None  # of a call that has not sent its usage
        self._arrived = False  # whether any text of that call has
        self._answered_by = ""  # of several models: the one that answered
        self._stream: Stream | None = None
        self._stopped = threading.Event()

    def run(self) -> None:
        """Run the turn to its end, whatever that is."""
        with span("turn") as watched:
            self._run(watched)

    def _run(self, watched: Span) -> None:
        try:
            model, prompt = self._find_model(self.turn.options.model), self.turn.prepare()
            if isinstance(model, PreloadableModel):
                model.preload()  # what is not installed has sent nothing
            if self._stopped.is_set():
                self.turn.stop(self._text)
            elif self.turn.begin(model.name):
                self._live.begin(self.turn.stream_id, self.turn.turn_id)
                self._saved_at = self._now()
                self._converse(model, prompt)
        except BaseException as problem:  # noqa: BLE001 - whatever an adapter does, a turn ends
            watched.set(error=type(problem).__name__)
            self._end_after(problem)
        finally:
            self._live.end(self.turn.turn_id)
            self._bill_what_is_left()

    def stop(self) -> None:
        """End it now; the text so far is kept."""
        self._stopped.set()
        self._close()

    def _end_after(self, problem: BaseException) -> None:
        """End it after an error: as stopped if that was asked for, else as failed."""
        if self._stopped.is_set():
            self.turn.stop(self._text)
        elif isinstance(problem, EverloopError):
            self._fail(str(problem), problem.hint)
        else:
            self._fail(f"an unexpected error, {type(problem).__name__}: {problem}", UNEXPECTED)

    def _fail(self, reason: str, hint: str) -> None:
        self.turn.fail(self._text, _well_formed(reason), hint)

    def _converse(self, model: Model, prompt: Prompt) -> None:
        messages, finish = list(prompt.messages), Finish("stop")
        for round_ in range(self._limits.tool_rounds_max + 1):
            tools = prompt.tools if round_ < self._limits.tool_rounds_max else ()
            asked = msgspec.structs.replace(prompt, messages=tuple(messages), tools=tools)
            began = len(self._text)
            calls, finish = self._receive(model, asked)
            if self._stopped.is_set() or finish.reason != "tools" or not calls:
                break
            messages += self._call_tools(calls, self._text[began:])
        if self._stopped.is_set():
            self.turn.stop(self._text)
        else:
            self.turn.finish(self._text, self._answered_by or model.name, finish.reason)

    def _receive(self, model: Model, prompt: Prompt) -> tuple[list[ToolCall], Finish]:
        """Read one stream of the model to its end. Once stopped, nothing is sent."""
        began, calls, finish = self._now(), list[ToolCall](), Finish("stop")
        if self._stopped.is_set():
            return calls, finish
        text_before = len(self._text)
        self._unbilled = lambda: _estimate(model, prompt, self._text[text_before:])
        self._arrived = False
        self._stream = model.generate(prompt, self._params())
        try:
            if self._stopped.is_set():  # it came while the stream was being opened
                return calls, finish
            for chunk in self._stream:
                match chunk:
                    case Delta(text=text):
                        self._arrived = True
                        self._append(text)
                    case Reasoning(text=text):
                        self._think(text)
                    case ToolCall():
                        calls.append(chunk)
                    case Usage():
                        self._bill(chunk, self._now() - began)
                    case Finish():
                        finish = chunk
                if len(self._text) >= self._limits.characters_max:
                    return [], Finish("length")
        finally:
            self._close()
            self._record_thought()
        return calls, finish

    def _params(self) -> Params:
        wanted, most = self.turn.options, self._limits.tokens_max
        return Params(
            tokens_max=min(wanted.tokens_max or most, most),
            timeout_s=self._limits.silence_s,
            timeout_setting="thread.answer.silence_s",
            temperature=wanted.temperature,
        )

    def _close(self) -> None:
        """Close the stream, if there is one. What it raises does not matter: it is over."""
        with suppress(Exception):
            if self._stream is not None:
                self._stream.close()

    def _append(self, text: str) -> None:
        """Add text to the answer. Empty text is skipped: to watchers it means the end."""
        text = _well_formed(text)[: max(0, self._limits.characters_max - len(self._text))]
        if not text:
            return
        if not self._text:
            self.turn.begin_streaming()
        if self._new_paragraph:
            self._new_paragraph, text = False, f"\n\n{text}"
        self._text += text
        self._live.append(self.turn.turn_id, text)
        if self._now() - self._saved_at >= self._limits.save_every_s:
            self.turn.save(self._text[self._saved :])
            self._saved, self._saved_at = len(self._text), self._now()

    def _think(self, text: str) -> None:
        """Add text to the reasoning, up to the length of an answer."""
        text = _well_formed(text)[: max(0, self._limits.characters_max - len(self._thought))]
        if text:
            self._thought += text
            self._live.think(self.turn.turn_id, text)

    def _record_thought(self) -> None:
        """Record the reasoning of one call of the model."""
        thought, self._thought = self._thought, ""
        if thought.strip():
            self.turn.record_reasoning(thought)

    def _call_tools(self, calls: Sequence[ToolCall], said: str) -> list[Message]:
        """Call tools; returns the messages that tell the model what it said and what came back."""
        results: list[ToolResult] = []
        for call in calls:
            if self._stopped.is_set():
                break
            text, failed = self._call_tool(call)
            results.append(ToolResult(call.id, text, failed))
            self.turn.record_tool(call, text, failed=failed)
        self._new_paragraph = bool(self._text) and not self._text.endswith("\n\n")
        text_part = (Text(said),) if said else ()
        return [Message("assistant", (*text_part, *calls)), Message("user", tuple(results))]

    def _call_tool(self, call: ToolCall) -> tuple[str, bool]:
        try:
            result = self.turn.call_tool(call, self._stopped)
        except EverloopError as problem:
            return _truncate(_well_formed(f"{problem} {problem.hint}".strip())), True
        return _truncate(_well_formed(result)), False

    def _bill(self, usage: Usage, duration_s: float) -> None:
        self._unbilled = None
        self._answered_by = usage.model
        self.turn.record_usage(usage, duration_s)

    def _bill_what_is_left(self) -> None:
        """Record a call that was broken off, with an estimate of what it took."""
        if self._unbilled is not None and (self._arrived or self._stopped.is_set()):
            with suppress(EverloopError):  # the turn was retracted, and its costs with it
                self._bill(self._unbilled(), 0.0)

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _estimate(model: Model, prompt: Prompt, text: str) -> Usage:
    """What a call took that was broken off after this text."""
    if isinstance(model, EstimatingModel):
        return model.estimate_usage(prompt, text)
    return Usage(model.name, 0, 0)


def _well_formed(text: str) -> str:
    """The text without lone surrogates, which no log can store."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _truncate(result: str) -> str:
    """The result up to its limit, with a note if it was longer."""
    if len(result) <= RESULT_MAX:
        return result
    return f"{result[:RESULT_MAX]}\n(cut: it has {len(result):,} characters)"
