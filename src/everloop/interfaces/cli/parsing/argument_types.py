"""Argument types for `argparse`: positions, ranges of positions, counts and non-empty text.

Nothing here imports more than `argparse`, so that help stays fast.
"""

from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Sequence
from typing import Any, cast

RANGE_MAX = 100_000  # positions in one range
RANGE_LENGTH_MIN = 3  # fewer consecutive positions are written one by one


def parse_position(text: str) -> int:
    """Parse a log position."""
    try:
        value = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a position; use a number") from None
    if value < 0:
        raise ArgumentTypeError(f"{value} is not a position; positions start at 1")
    return value


def parse_range(text: str) -> range:
    """Parse one position, or an inclusive range of them: `11-19`."""
    first, dash, last = text.partition("-")
    if not (first and dash):
        return range(parse_position(text), parse_position(text) + 1)
    positions = range(parse_position(first), parse_position(last) + 1)
    if not 0 < len(positions) <= RANGE_MAX:
        raise ArgumentTypeError(f"{text!r} is not a range of at most {RANGE_MAX:,} positions")
    return positions


class CollectPositions(Action):
    """Collects positions and ranges into one list without duplicates."""

    def __call__(
        self,
        _parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> None:
        """Store the list in the namespace."""
        ranges = cast("Sequence[range]", values or ())  # parsed by `span`
        setattr(namespace, self.dest, list(dict.fromkeys(each for one in ranges for each in one)))


def format_positions(positions: Iterable[int]) -> str:
    """Format positions as they are typed, in their order: `11-19 24`."""
    runs: list[list[int]] = []
    for each in positions:
        if runs and each == runs[-1][-1] + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    return " ".join(
        f"{run[0]}-{run[-1]}" if len(run) >= RANGE_LENGTH_MIN else " ".join(map(str, run))
        for run in runs
    )


def parse_count(text: str) -> int:
    """Parse a number of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def parse_non_empty(text: str) -> str:
    """Accept text that is not blank; an unset shell variable would otherwise mean nothing."""
    if not text.strip():
        raise ArgumentTypeError("the value is empty")
    return text
