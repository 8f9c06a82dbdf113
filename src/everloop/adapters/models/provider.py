"""Models of providers through any-llm: Anthropic, OpenAI and compatible servers.

any-llm is imported with the first call, because the import is slow. It speaks each provider's own
protocol; we give it messages and read chunks in one format, chat completions.
"""

import asyncio
import importlib
import re
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec

from everloop.adapters.models.chat_completions import (
    ChunkAccumulator,
    TokenUsage,
    completion_arguments,
)
from everloop.adapters.models.context_window import ContextWindow
from everloop.adapters.models.errors import (
    TransientModelError,
    hide_user,
    redact,
    service_message,
)
from everloop.adapters.models.prices import estimate_tokens, price_usd
from everloop.adapters.models.stream import (
    BackgroundStream,
    await_with_timeout,
    iterate_with_timeout,
)
from everloop.adapters.models.text_tool_calls import KNOWN_FOR_IT, TextToolCalls
from everloop.errors import ModelFailed
from everloop.ports import Chunk, Delta, Finish, Params, Prompt, Reasoning, Stream, Usage

OVERFLOW = (
    "The prompt is longer than the model's context. Lower thread.context.hard below it, start the"
    " model's server with a larger context, or choose another model."
)
_OVERFLOW = re.compile(
    r"exceeds? the (?:available )?context|context (?:size|window|length)|prompt is too long"
    r"|too many tokens|maximum context|input is too long",
    re.IGNORECASE,
)
UNREACHABLE = re.compile("Connect|Timeout")  # in the names of the libraries' own errors
INSTALL = "Install it: pip install 'everloop[models]'"


class ModelService(msgspec.Struct, frozen=True):
    """A model service. `free`: it runs on the user's own machine, so calls cost nothing."""

    name: str
    url: str = ""
    key: str = ""
    free: bool = False

    def __repr__(self) -> str:
        """The service without its key."""
        return f"ModelService({self.name!r}, {self.url!r})"


class ProviderModel:
    """One model of one service."""

    def __init__(self, service: ModelService, model: str) -> None:
        self._service = service
        self._model = model
        self._client: Any = None
        self._lock = threading.Lock()
        self._takes_temperature = True  # until it says that it does not
        self._window = ContextWindow(service.url, model, service.key)

    @property
    def name(self) -> str:
        """The service and the model: `anthropic:claude-…`."""
        return f"{self._service.name}:{self._model}"

    def __repr__(self) -> str:
        """The model without the key."""
        return f"ProviderModel({self.name!r})"

    def context_window(self) -> int:
        """How many tokens fit into its context; 0 if the service does not tell."""
        return self._window.tokens()

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
            async with aclosing(self._acceptable(prompt, params, library)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except library.AnyLLMError as problem:
            raise self._failure(problem) from None
        except (ValueError, TypeError, NotImplementedError, ImportError) as problem:
            words = redact(problem, self._service.key)
            raise ModelFailed(f"{self.name} cannot be used: {words}") from None

    async def _acceptable(
        self, prompt: Prompt, params: Params, library: Any
    ) -> AsyncGenerator[Chunk]:
        """The answer; asked for again without a temperature, if the model takes none."""
        cooled = params.temperature is not None and self._takes_temperature
        plain = msgspec.structs.replace(params, temperature=None)
        try:
            async with aclosing(self._chunks(prompt, params if cooled else plain)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except library.InvalidRequestError as problem:
            if not cooled or "temperature" not in str(problem.message).lower():
                raise
            self._takes_temperature = False
            async with aclosing(self._chunks(prompt, plain)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def _chunks(self, prompt: Prompt, params: Params) -> AsyncGenerator[Chunk]:
        await asyncio.to_thread(self.preload)
        asked = completion_arguments(
            prompt, params, dialect=self._service.name, free=self._service.free
        )
        calling = self._client.acompletion(model=self._model, **asked)
        gathering, written = ChunkAccumulator(), self._text_calls(prompt)
        async with aclosing(await await_with_timeout(calling, params)) as events:
            async for event in iterate_with_timeout(events, params):
                thought, text = gathering.add(event)
                if thought:
                    yield Reasoning(thought)
                if text := written.feed(text) if written else text:
                    yield Delta(text)
        calls = list(gathering.calls())
        rest, more = written.end() if written else ("", [])
        if rest:
            yield Delta(rest)
        for call in (*calls, *more):
            yield call
        yield await asyncio.to_thread(self._usage, gathering, prompt)
        yield Finish("tools" if more else gathering.reason())

    def _text_calls(self, prompt: Prompt) -> TextToolCalls | None:
        """A reader of tool calls that come as text, if this model is known for them."""
        own = self._service.free or self._service.name in ("endpoint", "openrouter")
        if not (prompt.tools and own and KNOWN_FOR_IT.search(self._model)):
            return None
        return TextToolCalls([tool.name for tool in prompt.tools])

    def estimate_usage(self, prompt: Prompt, text: str) -> Usage:
        """An estimate of what a call cost that was broken off after this text."""
        return self._priced(estimate_tokens(prompt, text))

    def _usage(self, gathering: ChunkAccumulator, prompt: Prompt) -> Usage:
        return self._priced(gathering.tokens(prompt))

    def _priced(self, tokens: TokenUsage) -> Usage:
        cost = 0.0 if self._service.free else price_usd(self._service.name, self._model, tokens)
        return Usage(self.name, tokens.read, tokens.written, cost, tokens.cached)

    def _connect(self) -> Any:
        return self._open(self._service)

    def _open(self, service: ModelService) -> Any:
        any_llm = _library("any_llm").AnyLLM
        options: dict[str, Any] = {"unified_exceptions": True, "max_retries": 0}
        if service.name == "anthropic":
            return any_llm.create("anthropic", service.key, service.url, **options)
        if service.url:
            key = service.key or "none"  # the client requires one; local servers ignore it
            return any_llm.create_openai_compatible(service.name, service.url, key, **options)
        return any_llm.create(service.name, service.key or None, **options)

    def _failure(self, problem: Any) -> ModelFailed:
        """What the service said, and a hint only where its kind of failure tells the next step."""
        errors = _library("any_llm.exceptions")
        words = self._words_of(problem)
        if isinstance(problem, errors.RateLimitError):
            return TransientModelError(
                words, hint="Try again in a moment.", after_s=_seconds(problem.retry_after)
            )
        if isinstance(problem, errors.ContextLengthExceededError) or _OVERFLOW.search(words):
            return ModelFailed(words, hint=OVERFLOW)
        passing = (errors.ProviderError, errors.UpstreamProviderError, errors.GatewayTimeoutError)
        if isinstance(problem, passing):
            return TransientModelError(words, hint="Try again, or choose another model.")
        if isinstance(problem, errors.AuthenticationError | errors.MissingApiKeyError):
            return ModelFailed(words, hint=f"Check the key of {self._service.name}.")
        return ModelFailed(words, hint="Choose another model, or try again.")

    def _words_of(self, problem: Any) -> str:
        """The service's own sentence with its status, or where it could not be reached."""
        said = redact(
            service_message(problem.original_exception) or problem.message, self._service.key
        )
        if problem.status_code is not None:
            return f"{self.name} answered {problem.status_code}: {said}"
        if not UNREACHABLE.search(type(problem.original_exception).__name__):
            return f"{self.name}: {said}"
        at = f" at {hide_user(self._service.url)}" if self._service.url else ""
        return f"{self.name} cannot be reached{at}: {said}"


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
