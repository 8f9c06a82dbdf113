"""What we need from the world: the nondeterministic things, as protocols of one or two methods.

Adapters implement them; tests pass fakes. Nothing below `adapters/` reads the time, makes an id
or draws a random number on its own.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class Clock(Protocol):
    """The time of day."""

    def now(self) -> datetime:
        """This moment, aware, in UTC."""
        ...

    def now_us(self) -> int:
        """This moment, in microseconds since 1970-01-01T00:00:00Z."""
        ...


class Ids(Protocol):
    """Fresh names."""

    def new(self, prefix: str) -> str:
        """An id that was never given out before, `prefix-…`, ordered by time of making."""
        ...


class Entropy(Protocol):
    """Unpredictable bytes."""

    def draw(self, count: int) -> bytes:
        """`count` random bytes, fit for secrets."""
        ...


class Patience(Protocol):
    """How long to wait for another process that is writing: SQLite's busy handler."""

    def __call__(self, tries: int) -> bool:
        """Wait a little and say whether to try again."""
        ...


class World(NamedTuple):
    """All of it, as an open log needs it. `vfs` names a disk for SQLite; None: the real one."""

    clock: Clock
    ids: Ids
    entropy: Entropy
    patience: Patience
    vfs: str | None = None


class Embedder(Protocol):
    """Texts as vectors. Equal texts give equal vectors, so they are kept by (name, text)."""

    @property
    def name(self) -> str:
        """The model's name; vectors of different names are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """How long a vector is."""
        ...

    def embed(self, texts: Sequence[str]) -> "NDArray[float32]":
        """One unit vector per text, in order.

        Raises:
            ModelFailed: the model is missing, or failed.
        """
        ...


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Words in a message."""

    text: str


class Image(msgspec.Struct, frozen=True, tag="image"):
    """A picture in a message, as the bytes of its file."""

    media_type: str
    data: bytes


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call"):
    """A model asks for a tool to be run. In a stream it comes whole, with parsed arguments."""

    id: str
    name: str
    arguments: dict[str, Any]


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result"):
    """What a tool gave back, in the user's message that follows the call."""

    call_id: str
    text: str
    failed: bool = False


Part = Text | Image | ToolCall | ToolResult


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation, as a model reads it."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


class Tool(msgspec.Struct, frozen=True):
    """Something the model may ask for; `schema` is the JSON schema of its arguments, an object."""

    name: str
    description: str
    schema: dict[str, Any]


class Prompt(msgspec.Struct, frozen=True):
    """All that a model is told. With a `schema`, the whole answer is to be JSON of that shape."""

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[Tool, ...] = ()
    schema: dict[str, Any] | None = None


class Params(msgspec.Struct, frozen=True):
    """How to answer. `timeout_s` is the longest silence; no temperature: the model's own."""

    tokens_max: int = 4_096
    timeout_s: float = 120.0
    temperature: float | None = None


class Delta(msgspec.Struct, frozen=True, tag="delta"):
    """The next piece of the answer's text."""

    text: str


class Usage(msgspec.Struct, frozen=True, tag="usage"):
    """What a call took, and which model answered. No cost: its price is not known."""

    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float | None = None


class Finish(msgspec.Struct, frozen=True, tag="finish"):
    """Why the answer ended: it was complete, too long, wants tools run, or was declined."""

    reason: Literal["stop", "length", "tools", "refused"]


Chunk = Delta | ToolCall | Usage | Finish


class Stream(Protocol):
    """An answer as it comes: deltas and tool calls, then one `Usage`, then one `Finish`."""

    def __iter__(self) -> Iterator[Chunk]:
        """The stream itself."""
        ...

    def __next__(self) -> Chunk:
        """The next chunk; a stream that was closed has none.

        Raises:
            ModelFailed: there is no answer, or the rest of it is missing.
        """
        ...

    def close(self) -> None:
        """Stop the call, from any thread, also while another waits for a chunk."""
        ...


class Model(Protocol):
    """A model that answers a prompt. It keeps nothing between two calls."""

    @property
    def name(self) -> str:
        """The model's name: `anthropic:claude-…`, `offline`."""
        ...

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """The answer, as it comes. It fails only while it is read."""
        ...


class Depot(Protocol):
    """Where the nodes of one log share files, named by their digests."""

    def put(self, digest: str, content: bytes) -> None:
        """Have a file there."""
        ...

    def get(self, digest: str) -> bytes | None:
        """What is in a file; None if it is not there."""
        ...

    def has(self, digest: str) -> bool:
        """Whether a file is there."""
        ...

    def renew(self, digest: str) -> bool:
        """Whether a file is there; if so, it is as good as new."""
        ...

    def settle(self, digests: list[str]) -> None:
        """Have files count as old: none of them waits for its message."""
        ...

    def drop(self, digests: list[str], *, wanted: list[str], unsent_s: float) -> None:
        """Erase files, so that nothing is left of them; and old ones that are not wanted."""
        ...


class Progress(Protocol):
    """Where long work stands; the doors draw it as a bar."""

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` units are finished."""
        ...
