"""The specification of one command: its words, help text, arguments and handler.

A specification names its handler by module and function, so that help is printed without loading
any command. Nothing here imports more than `argparse`.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import NamedTuple


class CommandSpec(NamedTuple):
    """One command: `everloop <words>`."""

    words: tuple[str, ...]
    summary: str
    module: str
    function: str
    arguments: Callable[[ArgumentParser], None]
    notes: str = ""

    @property
    def starts_server(self) -> bool:
        """Whether another interface (HTTP, MCP, JSON-RPC) runs this command."""
        return not self.module


def no_arguments(_: ArgumentParser) -> None:
    """Add no arguments."""
