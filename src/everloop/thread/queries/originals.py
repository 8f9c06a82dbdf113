"""Where the words of an item were said: the message that it is a copy of.

Who erases the copy wants the words gone, and they stand in the message as well. An item that was
made of several facts, or that says something else than they do, is no copy of any of them.
"""

from everloop.log import Reader
from everloop.memory.projections.queries import Item


def originals(reader: Reader, item: Item) -> list[int]:
    """The facts that an item was copied from, word for word; what was saved of an answer too."""
    sources = reader.rows(_SOURCES, (item.position,))
    if len(sources) != 1 or not sources[0][1]:
        return []
    position = int(sources[0][0])
    return [*(int(row[0]) for row in reader.rows(_SAVED, (position,))), position]


# A payload may have been erased, and not every one has a text.
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
