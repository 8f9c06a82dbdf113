"""Where one stood: positions and branches of the past."""

from datetime import datetime

from everloop.log.model.branches import Branches
from everloop.log.model.record import microseconds
from everloop.log.read.lineage import load_branches
from everloop.log.read.reader import Reader


def position_at(reader: Reader, at: datetime) -> int:
    """The last position recorded at or before a moment."""
    target, low, high = microseconds(at), 0, reader.head()
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if reader.record(middle).recorded_us <= target else (low, middle - 1)
        )
    return low


def stood_at(reader: Reader, as_of: int | datetime) -> tuple[dict[str, str], int]:
    """On which branch each tree stood at a position or a time, and which position that was."""
    upto = as_of if isinstance(as_of, int) else position_at(reader, as_of)
    then = Branches()
    load_branches(reader.db, then, upto=upto)
    return then.standing, upto
