"""Retry with exponential backoff, and fallback from one model to the next.

A call that fails before its first chunk is retried if the failure is transient; then the next model
is called. After the first chunk nothing is retried, so that text already shown never changes and no
answer is paid for twice.
"""

import random
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import msgspec

from everloop.adapters.models.errors import TransientModelError
from everloop.errors import ModelFailed
from everloop.ports import (
    Chunk,
    EstimatingModel,
    Model,
    Params,
    PreloadableModel,
    Prompt,
    Stream,
    Usage,
    WindowedModel,
)


class RetryPolicy(NamedTuple):
    """Retry policy: attempts for each model, and exponential backoff with jitter."""

    tries: int = 3
    backoff_s: float = 0.5
    backoff_max_s: float = 20.0
    chance: Callable[[], float] = random.random

    def backoff_before_retry(self, tried: int, problem: ModelFailed) -> float | None:
        """Seconds to wait before the next attempt; None if a retry is pointless."""
        if not isinstance(problem, TransientModelError) or tried >= self.tries:
            return None
        asked = problem.after_s or 0.0
        if asked > self.backoff_max_s:
            return None
        own = min(self.backoff_s * 2.0 ** (tried - 1), self.backoff_max_s)
        return max(asked, own * (0.5 + self.chance() / 2))


class FallbackModel:
    """Several models as one: the first that answers is used."""

    def __init__(
        self,
        models: Sequence[Model],
        patience: RetryPolicy | None = None,
        *,
        timeout_s: float = 120.0,
    ) -> None:
        assert models
        self._models = tuple(models)
        self._patience = patience or RetryPolicy()
        self._timeout_s = timeout_s

    @property
    def name(self) -> str:
        """The name of the first model; `Usage` tells which one answered."""
        return self._models[0].name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all models, in fallback order."""
        return tuple(model.name for model in self._models)

    def preload(self) -> None:
        """Load the library of the first model that has its own, which takes a second or two.

        Raises:
            ModelFailed: no model has what it needs.
        """
        problems: list[ModelFailed] = []
        for model in self._models:
            try:
                if isinstance(model, PreloadableModel):
                    model.preload()
            except ModelFailed as problem:
                problems.append(problem)
            else:
                return
        raise problems[0]

    def estimate_usage(self, prompt: Prompt, text: str) -> Usage:
        """An estimate of what a call cost that was broken off, if the first model was called."""
        first = self._models[0]
        if isinstance(first, EstimatingModel):
            return first.estimate_usage(prompt, text)
        return Usage(first.name, 0, 0)

    def context_window(self) -> int:
        """How many tokens fit into the context of the first model; 0 if that is not known."""
        first = self._models[0]
        return first.context_window() if isinstance(first, WindowedModel) else 0

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """Stream the answer of the first model that gives one."""
        if not params.timeout_setting:
            params = msgspec.structs.replace(
                params, timeout_s=self._timeout_s, timeout_setting="models.timeout_s"
            )
        calls = [lambda model=model: model.generate(prompt, params) for model in self._models]
        return _RetryingStream(self.names, calls, self._patience)


class _RetryingStream:
    """One answer, with retries and fallback before its first chunk."""

    def __init__(
        self, names: Sequence[str], calls: Sequence[Callable[[], Stream]], patience: RetryPolicy
    ) -> None:
        self._names = names
        self._calls = calls
        self._patience = patience
        self._index = 0
        self._attempt = 1
        self._problems: list[str] = []
        self._started = False
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._stream = calls[0]()

    def __iter__(self) -> Self:
        """The stream itself."""
        return self

    def __next__(self) -> Chunk:
        """The next chunk; before the first one, calls are retried."""
        while not self._closed.is_set():
            try:
                chunk = next(self._stream)
            except ModelFailed as problem:
                if self._started:
                    raise
                self._retry(problem)
            else:
                self._started = True
                return chunk
        raise StopIteration

    def close(self) -> None:
        """Cancel the answer, also while it waits for a retry."""
        self._closed.set()
        with self._lock:
            self._stream.close()

    def _retry(self, problem: ModelFailed) -> None:
        pause = self._patience.backoff_before_retry(self._attempt, problem)
        if pause is None:
            self._fall_back(problem)
        else:
            self._attempt += 1
            self._closed.wait(pause)
        with self._lock:
            if not self._closed.is_set():
                self._stream = self._calls[self._index]()

    def _fall_back(self, problem: ModelFailed) -> None:
        self._problems.append(f"{self._names[self._index]}: {problem}")
        self._index, self._attempt = self._index + 1, 1
        if self._index < len(self._calls):
            return
        if len(self._calls) == 1:
            raise problem
        raise ModelFailed(f"no model answered: {'; '.join(self._problems)}", hint=problem.hint)
