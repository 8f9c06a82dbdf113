"""Reading the past: the position at a time, and the current branches at a position."""

from datetime import datetime

from everloop.log.model.branches import Branches
from everloop.log.model.record import to_microseconds
from everloop.log.read.lineage import load_branches
from everloop.log.read.reader import Reader


def position_at(reader: Reader, at: datetime) -> int:
    """The last position recorded at or before a time."""
    target, low, high = to_microseconds(at), 0, reader.head()
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if reader.record(middle).recorded_us <= target else (low, middle - 1)
        )
    return low


def current_branches_at(reader: Reader, as_of: int | datetime) -> tuple[dict[str, str], int]:
    """The current branch of each tree at a position or time, and that position."""
    upto = as_of if isinstance(as_of, int) else position_at(reader, as_of)
    then = Branches()
    load_branches(reader.db, then, upto=upto)
    return then.current, upto
