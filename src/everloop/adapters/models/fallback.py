"""A slot: several models as one, with patience.

A call that fails before its first chunk is tried again if the failure may pass, and then the next
model is asked. Once something was given, nothing is tried again: what a reader has seen stays true,
and nobody pays twice for one answer.
"""

import random
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

from everloop.adapters.models.errors import Transient
from everloop.adapters.models.provider import ProviderModel
from everloop.errors import ModelFailed
from everloop.ports import Chunk, Model, Params, Prompt, Stream


class Patience(NamedTuple):
    """How often to try one model, and how long to wait in between."""

    tries: int = 3
    backoff_s: float = 0.5
    backoff_max_s: float = 20.0
    chance: Callable[[], float] = random.random

    def pause(self, tried: int, problem: ModelFailed) -> float | None:
        """How long to wait before the same model is tried again; None: it is of no use."""
        if not isinstance(problem, Transient) or tried >= self.tries:
            return None
        asked = problem.after_s or 0.0
        if asked > self.backoff_max_s:
            return None
        own = min(self.backoff_s * 2.0 ** (tried - 1), self.backoff_max_s)
        return max(asked, own * (0.5 + self.chance() / 2))


class ModelSlot:
    """The first of these models that answers."""

    def __init__(self, models: Sequence[Model], patience: Patience | None = None) -> None:
        assert models
        self._models = tuple(models)
        self._patience = patience or Patience()

    @property
    def name(self) -> str:
        """The model that is asked first; a `Usage` says which one answered."""
        return self._models[0].name

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order in which they are asked."""
        return tuple(model.name for model in self._models)

    def prepare(self) -> None:
        """Load what the first call needs, so that it does not wait: a second or two, in a thread.

        Raises:
            ModelFailed: the library that the first model needs is not installed.
        """
        first = self._models[0]
        if isinstance(first, ProviderModel):
            first.prepare()

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """The answer of the first model that gives one."""
        calls = [lambda model=model: model.generate(prompt, params) for model in self._models]
        return _PatientStream(self.names, calls, self._patience)


class _PatientStream:
    """One answer, from whichever model gives it."""

    def __init__(
        self, names: Sequence[str], calls: Sequence[Callable[[], Stream]], patience: Patience
    ) -> None:
        self._names = names
        self._calls = calls
        self._patience = patience
        self._which = 0
        self._tried = 1
        self._problems: list[str] = []
        self._begun = False
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._stream = calls[0]()

    def __iter__(self) -> Self:
        """The stream itself."""
        return self

    def __next__(self) -> Chunk:
        """The next chunk; before the first one, as many calls as patience allows."""
        while not self._closed.is_set():
            try:
                chunk = next(self._stream)
            except ModelFailed as problem:
                if self._begun:
                    raise
                self._call_again(problem)
            else:
                self._begun = True
                return chunk
        raise StopIteration

    def close(self) -> None:
        """Stop it, also while it waits for the next try."""
        self._closed.set()
        with self._lock:
            self._stream.close()

    def _call_again(self, problem: ModelFailed) -> None:
        pause = self._patience.pause(self._tried, problem)
        if pause is None:
            self._turn_to_next(problem)
        else:
            self._tried += 1
            self._closed.wait(pause)
        with self._lock:
            if not self._closed.is_set():
                self._stream = self._calls[self._which]()

    def _turn_to_next(self, problem: ModelFailed) -> None:
        self._problems.append(f"{self._names[self._which]}: {problem}")
        self._which, self._tried = self._which + 1, 1
        if self._which < len(self._calls):
            return
        if len(self._calls) == 1:
            raise problem
        raise ModelFailed(f"no model answered: {'; '.join(self._problems)}", hint=problem.hint)
