"""Log identity: detects whether a reader still sees the log that a cache was built from.

An in-memory index belongs to one log. A purge or a restored backup makes it another log, even where
positions are the same; a reader of an older state still sees the same log.
"""

from everloop.log import Reader

HEADS_KEPT = 4_096  # newest digests by which the log is recognised

_STATE = """
SELECT (SELECT max(position) FROM log),
       (SELECT digest FROM log WHERE position = min(?1, (SELECT max(position) FROM log))),
       (SELECT max(position) FROM log_retractions WHERE everywhere)
"""
_DIGESTS = "SELECT digest FROM log WHERE position > ? AND position <= ? ORDER BY position"


class LogIdentity:
    """Digests and newest purge of the log that was read, to tell it from another log."""

    head: int  # up to which it was read
    purged: int | None  # the newest purge
    _digests: dict[bytes | None, None]

    def __init__(self) -> None:
        self._reset(None)

    def newest_position(self, reader: Reader) -> tuple[int, bool]:
        """The newest position that a reader sees, and whether it still sees the same log.

        If it sees another log, this object starts over with that one.
        """
        head, digest, purged = reader.rows(_STATE, (self.head,))[0]
        same = digest in self._digests and purged == self.purged
        if not same:
            self._reset(purged)
        return head or 0, same

    def record_read(self, reader: Reader, head: int) -> None:
        """Record that the log was read up to `head`."""
        new = reader.rows(_DIGESTS, (max(self.head, head - HEADS_KEPT), head))
        self._digests |= dict.fromkeys(row[0] for row in new)
        while len(self._digests) > HEADS_KEPT:
            del self._digests[next(iter(self._digests))]
        self.head = head

    def _reset(self, purged: int | None) -> None:
        self.head, self.purged = 0, purged
        self._digests = {None: None}
