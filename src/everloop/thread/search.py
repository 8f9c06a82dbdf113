"""Message search by keywords, meaning and date, with filters for thread and role.

Memory finds and ranks messages; it does not know threads and roles, so these are filtered here. If
the filters leave too few hits, the search is repeated with a higher limit, so the caller gets as
many hits as asked for whenever there are that many.
"""

from collections.abc import Iterator, Sequence

import msgspec

from everloop.log import Log, Reader, visible
from everloop.memory.retrieval.results import SearchHit, SearchQuery
from everloop.memory.service import MemoryService
from everloop.thread.queries import threads
from everloop.thread.remember_messages import KIND

WIDER = 5  # factor by which the limit grows when the filters leave too few hits


class MessageHit(msgspec.Struct, frozen=True):
    """A message, with its search hit."""

    message: threads.ThreadMessage
    hit: SearchHit


class MessageSearchResult(msgspec.Struct, frozen=True):
    """Search results, best first, and notes on what could not be searched."""

    found: tuple[MessageHit, ...]
    notes: tuple[str, ...]


class MessageFilter(msgspec.Struct, frozen=True):
    """Search filter: one thread, one role. Empty values match everything."""

    thread_id: str = ""
    role: str = ""

    @property
    def matches_all(self) -> bool:
        """Whether nothing is filtered out."""
        return not (self.thread_id or self.role)


def search_messages(
    log: Log,
    keeper: MemoryService,
    principal: str,
    asked: SearchQuery,
    narrow: MessageFilter | None = None,
) -> MessageSearchResult:
    """The best matching messages among those that a principal may see."""
    where = narrow or MessageFilter()
    only = msgspec.structs.replace(asked.only, kinds=(KIND,))
    wanted = asked.limit
    width = wanted if where.matches_all else wanted * WIDER
    while True:
        answer = keeper.recall(principal, msgspec.structs.replace(asked, only=only, limit=width))
        with log.reading() as reader:
            found = tuple(_filter_hits(reader, answer.hits, where, wanted))
        if where.matches_all or len(found) >= wanted or len(answer.hits) < width:
            return MessageSearchResult(found, tuple(answer.notes))
        width *= WIDER


def _filter_hits(
    reader: Reader, hits: Sequence[SearchHit], where: MessageFilter, most: int
) -> Iterator[MessageHit]:
    """The messages among hits that pass the filter, in the order of the hits."""
    names = msgspec.json.encode([hit.item.item_id for hit in hits]).decode()
    rows = reader.rows(_FILTERED, {"names": names, "thread": where.thread_id, "role": where.role})
    there = {row[0] for row in rows}
    fitting = [hit for hit in hits if hit.item.item_id in there][:most]
    for hit in fitting:
        yield MessageHit(threads.find_message(reader, hit.item.item_id), hit)


_FILTERED = f"""
SELECT m.message_id FROM json_each(:names) j JOIN thread_messages m ON m.message_id = j.value
WHERE (:thread = '' OR m.thread_id = :thread) AND (:role = '' OR m.role = :role) AND {visible("m")}
"""  # noqa: S608 - our own condition
