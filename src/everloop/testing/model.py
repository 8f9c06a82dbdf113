"""A scripted language model for tests: gives scripted answers and records the prompts."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

from everloop.errors import ModelFailed
from everloop.ports import Chunk, Delta, Finish, Params, Prompt, Stream, ToolCall, Usage

Step = str | Chunk | BaseException | threading.Event
Script = str | BaseException | Sequence[Step]


class ScriptedModel:
    """Gives one scripted answer per call, in order.

    An answer is a text (streamed word by word), an error, or a list of steps: texts and chunks are
    streamed as they are, an error is raised, a `threading.Event` is waited for. `Usage` and
    `Finish` are added if a script has none.
    """

    def __init__(self, answers: Iterable[Script] = (), *, name: str = "scripted") -> None:
        self.name = name
        self.calls: list[tuple[Prompt, Params]] = []
        self._answers = iter(answers)
        self._lock = threading.Lock()

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """The next answer of the script."""
        with self._lock:
            self.calls.append((prompt, params))
            answer = next(self._answers, None)
        if answer is None:
            answer = ModelFailed(f"the script of {self.name!r} has no more answers")
        return ScriptedStream(_steps(answer, self.name))


class ScriptedStream:
    """The stream of a scripted answer. Closing it ends a step that waits."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps = iter(steps)
        self._closed = threading.Event()

    def __iter__(self) -> Self:
        """The stream itself."""
        return self

    def __next__(self) -> Chunk:
        """The next chunk of the script."""
        for step in self._steps:
            if isinstance(step, threading.Event):
                self._wait(step)
            if self._closed.is_set():
                break
            if isinstance(step, BaseException):
                self.close()
                raise step
            if not isinstance(step, threading.Event):
                return Delta(step) if isinstance(step, str) else step
        raise StopIteration

    def close(self) -> None:
        """End the stream, from any thread."""
        self._closed.set()

    def _wait(self, step: threading.Event) -> None:
        while not (step.wait(0.005) or self._closed.is_set()):
            pass


def _steps(answer: Script, name: str) -> list[Step]:
    match answer:
        case str():
            steps: list[Step] = list(_words(answer))
        case BaseException():
            return [answer]
        case _:
            steps = list(answer)
    if not any(isinstance(step, Usage) for step in steps):
        characters = sum(len(step) for step in steps if isinstance(step, str))
        steps.append(Usage(name, tokens_in=1, tokens_out=1 + characters // 4))
    if not any(isinstance(step, Finish) for step in steps):
        calls = any(isinstance(step, ToolCall) for step in steps)
        steps.append(Finish("tools" if calls else "stop"))
    return steps


def _words(text: str) -> Iterator[str]:
    """Split a text after each space; the pieces together are the text."""
    piece = ""
    for character in text:
        piece += character
        if character.isspace():
            yield piece
            piece = ""
    if piece:
        yield piece
