"""Stream heads: the version and digest that the next record of each stream continues.

Cached in memory until another process writes. The streams of appends that share a transaction are
looked up with one query, as soon as one of them is not cached.
"""

from collections.abc import Sequence

import msgspec

from everloop.log.model.branches import Branch
from everloop.log.model.record import GENESIS
from everloop.log.read.reader import Reader
from everloop.log.write.append import AppendRequest

_encode = msgspec.json.Encoder().encode

Head = tuple[int, bytes]  # the newest version and its digest

_HEADS = """
SELECT log.stream, log.version, log.digest FROM json_each(?1) j CROSS JOIN log ON log.position = (
    SELECT position FROM log WHERE stream = j.value AND branch = ?2 ORDER BY version DESC LIMIT 1)
"""


class StreamHeads(dict[tuple[str, str], Head]):
    """The cached heads, by stream and branch."""

    def __init__(self) -> None:
        super().__init__()
        self.upcoming: Sequence[AppendRequest] = ()  # appends whose streams were not looked up yet

    def find(self, reader: Reader, stream: str, branch: Branch) -> Head:
        """The version and digest of a stream's newest record; 0 and the genesis digest if new."""
        key = (stream, branch.name)
        if self.upcoming and key not in self and branch.parent is None:
            self._prefetch(reader, branch.name)
        known = self.get(key)
        if known is None:
            tail = reader.stream_head(stream, branch)
            known = tail.version, tail.digest
        return known

    def _prefetch(self, reader: Reader, root: str) -> None:
        """Look up the streams of all coming appends at once; a root branch has no ancestors."""
        coming, self.upcoming = self.upcoming, ()
        streams = {work.stream for work in coming if (work.stream, root) not in self}
        rows = reader.cursor.execute(_HEADS, (_encode(list(streams)).decode(), root))
        heads = {name: (version, digest) for name, version, digest in rows}
        for name in streams:
            version, digest = heads.get(name, (0, GENESIS))
            if isinstance(version, int) and isinstance(digest, bytes):  # else the file is damaged
                self[name, root] = version, digest
