"""Whether the log that a reader sees is the one that was read before.

What is kept in memory is of one log. A purge or a restored backup makes it another one, even where
positions are the same; readers of an older state of the same log see the same one.
"""

from everloop.log import Reader

HEADS_KEPT = 4_096  # newest records by which a reader is known to see the log that was read

_STATE = """
SELECT (SELECT max(position) FROM log),
       (SELECT digest FROM log WHERE position = min(?1, (SELECT max(position) FROM log))),
       (SELECT max(position) FROM log_retractions WHERE everywhere)
"""
_DIGESTS = "SELECT digest FROM log WHERE position > ? AND position <= ? ORDER BY position"


class Recognised:
    """What is known of the log that was read, by which it is told from another."""

    head: int  # up to which it was read
    purged: int | None  # the newest purge
    _digests: dict[bytes | None, None]

    def __init__(self) -> None:
        self._begin(None)

    def newest(self, reader: Reader) -> tuple[int, bool]:
        """The newest position that a reader sees, and whether it is of the log that was read.

        If it is of another one, nothing is known of that yet.
        """
        head, digest, purged = reader.rows(_STATE, (self.head,))[0]
        same = digest in self._digests and purged == self.purged
        if not same:
            self._begin(purged)
        return head or 0, same

    def note(self, reader: Reader, head: int) -> None:
        """Take note that it was read up to `head`."""
        new = reader.rows(_DIGESTS, (max(self.head, head - HEADS_KEPT), head))
        self._digests |= dict.fromkeys(row[0] for row in new)
        while len(self._digests) > HEADS_KEPT:
            del self._digests[next(iter(self._digests))]
        self.head = head

    def _begin(self, purged: int | None) -> None:
        self.head, self.purged = 0, purged
        self._digests = {None: None}
