"""Settings of language models; section `[models]` of the settings file.

Keys are secrets: every representation of these settings masks them, so that no log, error or
debugger shows one.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

KEYS_FILE = "keys.toml"  # in the data home, readable by its owner only
CHOICE = (
    "in order of preference, with commas between them: `anthropic:claude-…`, `ollama:llama3.2`,"
    " `claude`, `offline`."
)


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which models to use, how to reach them, and how long to wait."""

    narrative: Annotated[
        str, Meta(description=f"The models that talk, {CHOICE} Empty: the best that is found.")
    ] = ""
    classifier: Annotated[
        str, Meta(description=f"The models that sort and extract, {CHOICE} Empty: as `narrative`.")
    ] = ""
    timeout_s: Annotated[
        float, Meta(gt=0, description="The longest silence of a model, in seconds.")
    ] = 120.0
    tokens_max: Annotated[
        int, Meta(ge=1, description="How long an answer may be at most, in tokens.")
    ] = 4_096
    tries: Annotated[
        int, Meta(ge=1, description="How often a model is called before the next one is.")
    ] = 3
    backoff_s: Annotated[
        float, Meta(ge=0, description="The pause before the second try; it doubles each time.")
    ] = 0.5
    backoff_max_s: Annotated[
        float, Meta(ge=0, description="The longest pause; if a service wants more, it has failed.")
    ] = 20.0
    search_s: Annotated[
        float, Meta(gt=0, description="How long to look for model servers on this machine.")
    ] = 0.3
    anthropic_key: Annotated[
        str, Meta(description="Anthropic's key. `ANTHROPIC_API_KEY` is honoured.")
    ] = ""
    anthropic_url: Annotated[
        str, Meta(description="Anthropic's address. `ANTHROPIC_BASE_URL` is honoured.")
    ] = "https://api.anthropic.com"
    anthropic_model: Annotated[
        str, Meta(description="The model to use if Anthropic's key is found and none is chosen.")
    ] = "claude-opus-5-5"
    openai_key: Annotated[str, Meta(description="OpenAI's key. `OPENAI_API_KEY` is honoured.")] = ""
    openai_url: Annotated[
        str, Meta(description="OpenAI's address. `OPENAI_BASE_URL` is honoured.")
    ] = "https://api.openai.com/v1"
    openai_model: Annotated[
        str, Meta(description="The model to use if OpenAI's key is found and none is chosen.")
    ] = "gpt-5"
    openrouter_key: Annotated[
        str, Meta(description="OpenRouter's key. `OPENROUTER_API_KEY` is honoured.")
    ] = ""
    openrouter_url: Annotated[str, Meta(description="OpenRouter's address.")] = (
        "https://openrouter.ai/api/v1"
    )
    openrouter_model: Annotated[
        str, Meta(description="The model to use if OpenRouter's key is found and none is chosen.")
    ] = "openrouter/auto"
    ollama_url: Annotated[str, Meta(description="Ollama's address, with `/v1`.")] = (
        "http://127.0.0.1:11434/v1"
    )
    lmstudio_url: Annotated[str, Meta(description="LM Studio's address, with `/v1`.")] = (
        "http://127.0.0.1:1234/v1"
    )
    llamacpp_url: Annotated[str, Meta(description="llama.cpp's address, with `/v1`.")] = (
        "http://127.0.0.1:8080/v1"
    )
    vllm_url: Annotated[str, Meta(description="vLLM's address, with `/v1`.")] = (
        "http://127.0.0.1:8000/v1"
    )
    endpoint_url: Annotated[
        str, Meta(description="The address of any other OpenAI-compatible endpoint, with `/v1`.")
    ] = ""
    endpoint_key: Annotated[str, Meta(description="The key it wants, if it wants one.")] = ""
    claude_model: Annotated[
        str, Meta(description="The model Claude Code is to use. Empty: its own default.")
    ] = ""

    claude_mcp_command: Annotated[
        str,
        Meta(
            description="The command of a claude-code-mcp server, for the model `claude-code-mcp`."
        ),
    ] = ""

    def __repr__(self) -> str:
        """The settings with masked keys."""
        return f"ModelSettings({', '.join(f'{name}={value!r}' for name, value in self._masked())})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """The settings with masked keys, for rich."""
        return list(self._masked())

    def _masked(self) -> Iterator[tuple[str, Any]]:
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            yield field.name, "…" if value and field.name.endswith("_key") else value
