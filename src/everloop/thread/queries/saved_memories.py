"""Memories that were kept from the messages of a thread, with a tool, while they were answered."""

import msgspec

from everloop.log import Reader, visible


class SavedMemory(msgspec.Struct, frozen=True):
    """A memory and the message it was kept from. Retracting `position` undoes it."""

    message_id: str
    item_id: str
    position: int
    text: str


def saved_memories(reader: Reader, thread_id: str, most: int) -> list[SavedMemory]:
    """The newest memories of a thread, oldest first."""
    rows = reader.rows(_SAVED, (thread_id, most))
    return [SavedMemory(*row) for row in reversed(rows)]


_SAVED = f"""
SELECT t.message_id, i.item_id, i.position, v.text
FROM memory_items i
JOIN log_because b ON b.dependant = i.position
JOIN thread_turns t ON t.position = b.source AND t.phase = 'recorded' AND t.thread_id = ?
JOIN memory_versions v ON v.item = i.position
WHERE i.author <> 'engine' AND {visible("i")} AND {visible("t")} AND {visible("v")}
AND v.position = (SELECT max(n.position) FROM memory_versions n
                  WHERE n.item = i.position AND {visible("n")})
ORDER BY i.position DESC LIMIT ?
"""  # noqa: S608 - our own conditions
