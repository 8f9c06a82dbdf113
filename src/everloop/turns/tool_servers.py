"""Servers whose tools a model may use: how to reach one, and how it is."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

NAME = r"^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$"  # no two underscores: they end it in a tool's name


class ToolServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An MCP server: a `command` that is started, or a `url`; section `[tools.NAME]`.

    What is in `env` and `headers` may be secret, so no representation shows it.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    folder: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    enabled: bool = True
    connect_s: Annotated[float, Meta(gt=0)] = 15.0
    timeout_s: Annotated[float, Meta(gt=0)] = 30.0

    @property
    def way(self) -> str:
        """How it is reached, without anything secret."""
        return self.url.partition("?")[0] if self.url else self.command

    def __repr__(self) -> str:
        """The server without its secrets."""
        return f"ToolServer({self.way!r})"


ToolServerSettings = dict[Annotated[str, Meta(pattern=NAME, max_length=30)], ToolServer]


class ToolHealth(msgspec.Struct, frozen=True):
    """How a server is. `problem` is why it is down."""

    name: str
    way: str
    state: Literal["starting", "up", "down", "off"]
    tools: tuple[str, ...] = ()
    problem: str = ""
