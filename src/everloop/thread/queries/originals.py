"""Finds the message that a memory item was copied from, so that purging the item purges both.

An item that derives from several facts, or whose text differs from theirs, is not a copy.
"""

from everloop.log import Reader
from everloop.memory.projections.queries import Item


def original_positions(reader: Reader, item: Item) -> list[int]:
    """Positions of the facts that an item copies word for word, saved partial answers included."""
    sources = reader.rows(_SOURCES, (item.position,))
    if len(sources) != 1 or not sources[0][1]:
        return []
    position = int(sources[0][0])
    return [*(int(row[0]) for row in reader.rows(_SAVED, (position,))), position]


# A payload may have been purged, and not every payload has a text.
_SOURCES = """
SELECT s.position, s.data ->> 'text' = i.data ->> 'text'
FROM log_because b JOIN log s ON s.position = b.source JOIN log i ON i.position = b.dependant
WHERE b.dependant = ?
"""
_SAVED = """
SELECT s.position FROM log a JOIN log s ON s.stream = a.stream
WHERE a.position = ? AND s.kind = 'thread.answer_saved' AND s.data IS NOT NULL
AND s.data ->> 'turn_id' = a.data ->> 'turn_id' ORDER BY s.position
"""
