"""Where streams end: the version and digest that the next record of each follows.

Kept in memory until somebody else writes. The streams of works that share a transaction are looked
up together, once one of them is not known.
"""

from collections.abc import Sequence

import msgspec

from everloop.log.model.branches import Branch
from everloop.log.model.record import GENESIS
from everloop.log.read.reader import Reader
from everloop.log.write.append import Work

_encode = msgspec.json.Encoder().encode

End = tuple[int, bytes]  # the newest version and its digest

_ENDS = """
SELECT log.stream, log.version, log.digest FROM json_each(?1) j CROSS JOIN log ON log.position = (
    SELECT position FROM log WHERE stream = j.value AND branch = ?2 ORDER BY version DESC LIMIT 1)
"""


class Tails(dict[tuple[str, str], End]):
    """The ends that are known, by stream and branch."""

    def __init__(self) -> None:
        super().__init__()
        self.coming: Sequence[Work] = ()  # works whose streams were not looked up yet

    def find(self, reader: Reader, stream: str, branch: Branch) -> End:
        """Where a stream ends on a branch; 0 and the digest before all others if it is new."""
        place = (stream, branch.name)
        if self.coming and place not in self and branch.parent is None:
            self._look_ahead(reader, branch.name)
        known = self.get(place)
        if known is None:
            tail = reader.tail(stream, branch)
            known = tail.version, tail.digest
        return known

    def _look_ahead(self, reader: Reader, root: str) -> None:
        """Look up the streams of all works that come: on a root that is all there is."""
        coming, self.coming = self.coming, ()
        streams = {work.stream for work in coming if (work.stream, root) not in self}
        rows = reader.cursor.execute(_ENDS, (_encode(list(streams)).decode(), root))
        ends = {each: (version, digest) for each, version, digest in rows}
        for each in streams:
            version, digest = ends.get(each, (0, GENESIS))
            if isinstance(version, int) and isinstance(digest, bytes):  # else the file is damaged
                self[each, root] = version, digest
