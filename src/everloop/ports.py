"""Ports: protocols for everything nondeterministic (time, ids, randomness, models, blobs).

Adapters implement them; tests pass fakes. Code below `adapters/` never reads the time, creates an
id or draws a random number by itself.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

import msgspec

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class Clock(Protocol):
    """The time of day."""

    def now(self) -> datetime:
        """The current time, aware, in UTC."""
        ...

    def now_us(self) -> int:
        """The current time, in microseconds since 1970-01-01T00:00:00Z."""
        ...


class Ids(Protocol):
    """Generator of unique ids."""

    def new(self, prefix: str) -> str:
        """A new unique id, `prefix-…`; ids sort by creation time."""
        ...


class Entropy(Protocol):
    """Source of secure random bytes."""

    def draw(self, count: int) -> bytes:
        """`count` random bytes, secure enough for secrets."""
        ...


class BusyHandler(Protocol):
    """Busy handler: how long to wait while another process is writing."""

    def __call__(self, tries: int) -> bool:
        """Wait a little and return whether to try again."""
        ...


class SystemPorts(NamedTuple):
    """The ports that a log needs. `vfs` names a SQLite VFS; None: the real disk."""

    clock: Clock
    ids: Ids
    entropy: Entropy
    patience: BusyHandler
    vfs: str | None = None


class Embedder(Protocol):
    """Embeds texts as vectors. Deterministic, so vectors are cached by (name, text)."""

    @property
    def name(self) -> str:
        """The model's name; vectors of different names are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> "NDArray[float32]":
        """One unit vector per text, in order.

        Raises:
            ModelFailed: the model is missing, or failed.
        """
        ...


class Text(msgspec.Struct, frozen=True, tag="text"):
    """A text part of a message."""

    text: str


class Image(msgspec.Struct, frozen=True, tag="image"):
    """An image part of a message, as the bytes of its file."""

    media_type: str
    data: bytes


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call"):
    """A model's tool call. In a stream it is one chunk, with parsed arguments."""

    id: str
    name: str
    arguments: dict[str, Any]


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result"):
    """The result of a tool, in the user message that follows the call."""

    call_id: str
    text: str
    failed: bool = False


Part = Text | Image | ToolCall | ToolResult


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation, as a model reads it."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


class Tool(msgspec.Struct, frozen=True):
    """A tool that the model may call; `schema` is the JSON schema of its arguments object."""

    name: str
    description: str
    schema: dict[str, Any]


class Prompt(msgspec.Struct, frozen=True):
    """The input of a model. With a `schema`, the whole answer must be JSON of that shape."""

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[Tool, ...] = ()
    schema: dict[str, Any] | None = None


class Params(msgspec.Struct, frozen=True):
    """Parameters of a call. `timeout_s`: longest silence; no temperature: the model's default.

    `timeout_setting` names the setting that the timeout comes from, for the error.
    """

    tokens_max: int = 4_096
    timeout_s: float = 120.0
    temperature: float | None = None
    timeout_setting: str = ""


class Delta(msgspec.Struct, frozen=True, tag="delta"):
    """The next piece of the answer's text."""

    text: str


class Reasoning(msgspec.Struct, frozen=True, tag="reasoning"):
    """The next piece of what a model thinks before it answers. No part of the answer."""

    text: str


class Usage(msgspec.Struct, frozen=True, tag="usage"):
    """Token usage and cost of a call, and the model that answered. None: price unknown.

    `tokens_cached` are those of `tokens_in` that the service had in its cache.
    """

    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float | None = None
    tokens_cached: int = 0


class Finish(msgspec.Struct, frozen=True, tag="finish"):
    """Why the answer ended: complete, token limit, tool calls, or refused."""

    reason: Literal["stop", "length", "tools", "refused"]


Chunk = Delta | Reasoning | ToolCall | Usage | Finish


class Stream(Protocol):
    """A streamed answer: deltas, reasoning and tool calls, then one `Usage`, then one `Finish`."""

    def __iter__(self) -> Iterator[Chunk]:
        """The stream itself."""
        ...

    def __next__(self) -> Chunk:
        """The next chunk; a closed stream has none.

        Raises:
            ModelFailed: there is no answer, or it broke off.
        """
        ...

    def close(self) -> None:
        """Stop the call, from any thread, even while another thread waits for a chunk."""
        ...


class Model(Protocol):
    """A language model that answers a prompt. It has no state between calls."""

    @property
    def name(self) -> str:
        """The model's name: `anthropic:claude-…`, `offline`."""
        ...

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """Stream the answer. Errors are raised only while it is read."""
        ...


@runtime_checkable
class EstimatingModel(Protocol):
    """A model that can estimate what a call cost which was broken off."""

    def estimate_usage(self, prompt: Prompt, text: str) -> Usage:
        """The usage of a call with this prompt, of which this text arrived."""
        ...


@runtime_checkable
class PreloadableModel(Protocol):
    """A model that needs a library, which can be loaded before a call."""

    def preload(self) -> None:
        """Load it.

        Raises:
            ModelFailed: it is not installed.
        """
        ...


@runtime_checkable
class WindowedModel(Protocol):
    """A model that may know how large its context is."""

    def context_window(self) -> int:
        """How many tokens fit into its context; 0 if that is not known."""
        ...


class NodeMessages(Protocol):
    """Messages between the nodes of a log: not kept, at most once, to whoever listens now."""

    def send(self, text: str) -> None:
        """Send a message to all nodes, this one included, without waiting."""
        ...

    def receive(self, receive: Callable[[str], None]) -> Callable[[], None]:
        """Call a function, which must not wait, for each message; the returned one ends it."""
        ...


class BlobStore(Protocol):
    """Blob storage that the nodes of one log share; files are named by their digests."""

    def put(self, digest: str, content: bytes) -> None:
        """Store a file under its digest, if it is not there yet."""
        ...

    def get(self, digest: str) -> bytes | None:
        """The content of a file; None if there is no such file."""
        ...

    def has(self, digest: str) -> bool:
        """Whether a file exists."""
        ...

    def touch(self, digest: str) -> bool:
        """Reset the age of a file, so that clean-up leaves it; False if it does not exist."""
        ...

    def mark_old(self, digests: list[str]) -> None:
        """Mark files as old: no message that will refer to them is still to come."""
        ...

    def erase(self, digests: list[str], *, wanted: list[str], unsent_s: float) -> None:
        """Erase these files for good, and old files that are not in `wanted`."""
        ...


class Progress(Protocol):
    """Progress callback of a long operation; interfaces show it as a bar."""

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` units are finished."""
        ...
