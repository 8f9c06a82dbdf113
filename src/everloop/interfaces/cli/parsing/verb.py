"""What a row of the command line is, and how the numbers in it are read and written.

Nothing here imports more than `argparse`, so that help is quick.
"""

from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

RANGE_MAX = 100_000  # positions from one to another
SHORTER_FROM = 3  # positions in a row that are sooner written as a range


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


def span(text: str) -> range:
    """A position as typed, or all from one to another: `11-19`."""
    first, dash, last = text.partition("-")
    if not (first and dash):
        return range(position(text), position(text) + 1)
    positions = range(position(first), position(last) + 1)
    if not 0 < len(positions) <= RANGE_MAX:
        raise ArgumentTypeError(f"{text!r} is not a range of at most {RANGE_MAX:,} positions")
    return positions


class Spans(Action):
    """Takes positions and ranges of them as one list of positions, each once."""

    def __call__(
        self,
        _parser: ArgumentParser,
        asked: Namespace,
        values: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> None:
        """Keep them."""
        taken = cast("Sequence[range]", values or ())  # as `span` made them
        setattr(asked, self.dest, list(dict.fromkeys(each for one in taken for each in one)))


def spans(positions: Iterable[int]) -> str:
    """Positions as they are typed, in their order: `11-19 24`."""
    runs: list[list[int]] = []
    for each in positions:
        if runs and each == runs[-1][-1] + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    return " ".join(
        f"{run[0]}-{run[-1]}" if len(run) >= SHORTER_FROM else " ".join(map(str, run))
        for run in runs
    )


def count(text: str) -> int:
    """A number of things as typed, at least one."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def filled(text: str) -> str:
    """A word as typed: an empty one, as of a variable that is not set, means nothing."""
    if not text.strip():
        raise ArgumentTypeError("it is empty")
    return text


def nothing(_: ArgumentParser) -> None:
    """No arguments of its own."""
