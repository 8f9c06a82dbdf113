"""Looking for what was said: by words, meaning and date, in a thread, by one side.

Memory finds messages and ranks them; whose they are and where they were said is known here. So as
many hits come back as were asked for, whenever there are as many: if those at hand are of other
threads or of the other side, more are looked through.
"""

from collections.abc import Iterator, Sequence

import msgspec

from everloop.log import Log, Reader, visible
from everloop.memory.retrieval.results import Asked, Recalled
from everloop.memory.service import Keeper
from everloop.thread.queries import threads
from everloop.thread.remember_messages import KIND

WIDER = 5  # how many more are looked through, each time that there are too few


class Found(msgspec.Struct, frozen=True):
    """A message, and why it was found."""

    message: threads.Message
    hit: Recalled


class Searched(msgspec.Struct, frozen=True):
    """What was found, the best first, and what could not be done."""

    found: tuple[Found, ...]
    notes: tuple[str, ...]


class Narrow(msgspec.Struct, frozen=True):
    """Where to look: in one thread, at what one side said. Empty: everywhere, everyone."""

    thread_id: str = ""
    role: str = ""

    @property
    def wide(self) -> bool:
        """Whether nothing is left out."""
        return not (self.thread_id or self.role)


def search(
    log: Log, keeper: Keeper, principal: str, asked: Asked, narrow: Narrow | None = None
) -> Searched:
    """The messages that a principal may see and that fit best."""
    where = narrow or Narrow()
    only = msgspec.structs.replace(asked.only, kinds=(KIND,))
    wanted = asked.limit
    width = wanted if where.wide else wanted * WIDER
    while True:
        answer = keeper.recall(principal, msgspec.structs.replace(asked, only=only, limit=width))
        with log.reading() as reader:
            found = tuple(_messages(reader, answer.hits, where, wanted))
        if where.wide or len(found) >= wanted or len(answer.hits) < width:
            return Searched(found, tuple(answer.notes))
        width *= WIDER


def _messages(
    reader: Reader, hits: Sequence[Recalled], where: Narrow, most: int
) -> Iterator[Found]:
    """The messages among hits that were said there, in their order."""
    names = msgspec.json.encode([hit.item.item_id for hit in hits]).decode()
    rows = reader.rows(_SAID, {"names": names, "thread": where.thread_id, "role": where.role})
    there = {row[0] for row in rows}
    fitting = [hit for hit in hits if hit.item.item_id in there][:most]
    for hit in fitting:
        yield Found(threads.message(reader, hit.item.item_id), hit)


_SAID = f"""
SELECT m.message_id FROM json_each(:names) j JOIN thread_messages m ON m.message_id = j.value
WHERE (:thread = '' OR m.thread_id = :thread) AND (:role = '' OR m.role = :role) AND {visible("m")}
"""  # noqa: S608 - our own condition
