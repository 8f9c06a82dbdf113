"""What a row of the command line is, and how the numbers in it are read.

Nothing here imports more than `argparse`, so that help is quick.
"""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import NamedTuple


class Verb(NamedTuple):
    """One command: `everloop <words>`."""

    words: tuple[str, ...]
    summary: str
    module: str
    function: str
    arguments: Callable[[ArgumentParser], None]
    notes: str = ""

    @property
    def opens_door(self) -> bool:
        """Whether it is no command of ours, but opens another door."""
        return not self.module


def position(text: str) -> int:
    """A position as typed."""
    try:
        value = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a position; positions are numbers") from None
    if value < 0:
        raise ArgumentTypeError(f"{value} is not a position; positions begin at 1")
    return value


def count(text: str) -> int:
    """A number of things as typed, at least one."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def nothing(_: ArgumentParser) -> None:
    """No arguments of its own."""
