"""Models of providers through any-llm: Anthropic, OpenAI and compatible servers.

any-llm is imported with the first call, because the import is slow. It speaks each provider's own
protocol; we give it messages and read chunks in one format, chat completions.
"""

import asyncio
import importlib
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec

from everloop.adapters.models.chat_completions import ChunkAccumulator, completion_arguments
from everloop.adapters.models.errors import TransientModelError, redact
from everloop.adapters.models.prices import price_usd
from everloop.adapters.models.stream import (
    BackgroundStream,
    await_with_timeout,
    iterate_with_timeout,
)
from everloop.errors import ModelFailed
from everloop.ports import Chunk, Delta, Finish, Params, Prompt, Stream, Usage

INSTALL = "Install it: pip install 'everloop[models]'"


class Service(msgspec.Struct, frozen=True):
    """A model service. `free`: it runs on the user's own machine, so calls cost nothing."""

    name: str
    url: str = ""
    key: str = ""
    free: bool = False

    def __repr__(self) -> str:
        """The service without its key."""
        return f"Service({self.name!r}, {self.url!r})"


class ProviderModel:
    """One model of one service."""

    def __init__(self, service: Service, model: str) -> None:
        self._service = service
        self._model = model
        self._client: Any = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The service and the model: `anthropic:claude-…`."""
        return f"{self._service.name}:{self._model}"

    def __repr__(self) -> str:
        """The model without the key."""
        return f"ProviderModel({self.name!r})"

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """Stream the answer of the service."""
        return BackgroundStream(self._answer(prompt, params))

    def preload(self) -> None:
        """Import any-llm and create the client, which takes a second or two.

        Raises:
            ModelFailed: any-llm is not installed.
        """
        with self._lock:
            if self._client is None:
                self._client = self._connect()

    async def _answer(self, prompt: Prompt, params: Params) -> AsyncGenerator[Chunk]:
        library = await asyncio.to_thread(_library, "any_llm.exceptions")
        try:
            async with aclosing(self._chunks(prompt, params)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except library.AnyLLMError as problem:
            raise self._failure(problem) from None
        except (ValueError, TypeError, NotImplementedError, ImportError) as problem:
            words = redact(problem, self._service.key)
            raise ModelFailed(f"{self.name} cannot be used: {words}") from None

    async def _chunks(self, prompt: Prompt, params: Params) -> AsyncGenerator[Chunk]:
        await asyncio.to_thread(self.preload)
        asked = completion_arguments(
            prompt, params, dialect=self._service.name, free=self._service.free
        )
        calling = self._client.acompletion(model=self._model, **asked)
        gathering = ChunkAccumulator()
        async with aclosing(await await_with_timeout(calling, params.timeout_s)) as events:
            async for event in iterate_with_timeout(events, params.timeout_s):
                if text := gathering.add(event):
                    yield Delta(text)
        for call in gathering.calls():
            yield call
        yield await asyncio.to_thread(self._usage, gathering, prompt)
        yield Finish(gathering.reason())

    def _usage(self, gathering: ChunkAccumulator, prompt: Prompt) -> Usage:
        tokens = gathering.tokens(prompt)
        cost = 0.0 if self._service.free else price_usd(self._service.name, self._model, tokens)
        return Usage(self.name, tokens.read, tokens.written, cost)

    def _connect(self) -> Any:
        return self._open(self._service)

    def _open(self, service: Service) -> Any:
        any_llm = _library("any_llm").AnyLLM
        options: dict[str, Any] = {"unified_exceptions": True, "max_retries": 0}
        if service.name == "anthropic":
            return any_llm.create("anthropic", service.key, service.url, **options)
        if service.url:
            key = service.key or "none"  # the client requires one; local servers ignore it
            return any_llm.create_openai_compatible(service.name, service.url, key, **options)
        return any_llm.create(service.name, service.key or None, **options)

    def _failure(self, problem: Any) -> ModelFailed:
        errors = _library("any_llm.exceptions")
        words = f"{self.name}: {redact(problem.message, self._service.key)}"
        if isinstance(problem, errors.RateLimitError):
            return TransientModelError(
                words, hint="Try again in a moment.", after_s=_seconds(problem.retry_after)
            )
        passing = (errors.ProviderError, errors.UpstreamProviderError, errors.GatewayTimeoutError)
        if isinstance(problem, passing):
            return TransientModelError(
                words,
                hint="Try again, or choose another model. `everloop doctor` checks the services.",
            )
        if isinstance(problem, errors.AuthenticationError | errors.MissingApiKeyError):
            return ModelFailed(
                words, hint=f"Check the key of {self._service.name}: docs/models.md."
            )
        return ModelFailed(words, hint="Check the model's name and the settings: docs/models.md.")


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise ModelFailed("models of a service need the package any-llm", hint=INSTALL) from problem


def _seconds(after: str | None) -> float | None:
    """The seconds of a `Retry-After` header; None if it is a date, then our backoff applies."""
    try:
        return max(0.0, float(after or ""))
    except ValueError:
        return None
