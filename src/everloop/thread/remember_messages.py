"""Indexing messages as memory items, so that search finds them by keywords and meaning.

What the built-in model said is not indexed: it only repeats what is in memory already.

Each message becomes an item with the same id. The pending work is derived from the log: messages
without an item. An item derives from its message, so hiding the message hides the item.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from everloop.errors import Rejected
from everloop.log import CommandBus, Log, Reader, visible
from everloop.log.model.record import from_microseconds
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.events import Origin
from everloop.thread.model.state import BUILT_IN
from everloop.thread.turns import ENGINE

KIND = "message"
HOST = "thread"
BATCH = 500


class _MessageText(msgspec.Struct):
    text: str = ""
    model: str = ""


_decode_text = msgspec.json.Decoder(_MessageText).decode


def remember_messages(
    log: Log, bus: CommandBus, *, after: int = 0, stopped: Callable[[], bool] = bool
) -> int:
    """Create missing items of messages after a position; returns the position that is done.

    Each batch has its own read transaction, so a long run does not block others. A batch that
    memory rejects, because an item with the same id has another text, is skipped.
    """
    while not stopped():
        with log.reading() as reader:
            rows = reader.rows(_WITHOUT_ITEM, (after, BATCH))
            upto = rows[-1][0] if len(rows) == BATCH else max(after, reader.head())
            items = _items(reader, rows)
        if items:
            with suppress(Rejected):
                bus.do_many(items, by=ENGINE)
        after = upto
        if len(rows) < BATCH:
            break
    return after


def _items(reader: Reader, rows: Sequence[tuple[Any, ...]]) -> list[RememberItem]:
    items: list[RememberItem] = []
    for position, thread_id, message_id, role, said_at, asked_at, asked, data in rows:
        words = _decode_text(data) if data is not None else _MessageText()
        if not words.text.strip() or words.model == BUILT_IN:
            continue
        before = reader.rows(_PREVIOUS_MESSAGE, (thread_id, asked_at, asked, position))
        items.append(
            RememberItem(
                item_id=message_id,
                text=words.text,
                kind=KIND,
                origin=Origin(host=HOST, session=thread_id, model=words.model),
                learned_via="told" if role == "user" else "saw",
                happened_at=from_microseconds(said_at).isoformat(),
                follows=before[0][0] if before else "",
                because=(position,),
            )
        )
    return items


_WITHOUT_ITEM = f"""
SELECT m.position, m.thread_id, m.message_id, m.role, m.said_at, m.asked_at, m.asked,
    (SELECT l.data FROM log l WHERE l.position = m.position)
FROM thread_messages m
WHERE m.position > ? AND {visible("m")}
AND NOT EXISTS (
    SELECT 1 FROM memory_items i WHERE i.item_id = m.message_id AND {visible("i")})
ORDER BY m.position LIMIT ?
"""  # noqa: S608 - our own conditions
_PREVIOUS_MESSAGE = f"""
SELECT m.message_id FROM thread_messages m
WHERE m.thread_id = ? AND (m.asked_at, m.asked, m.position) < (?, ?, ?) AND {visible("m")}
ORDER BY m.asked_at DESC, m.asked DESC, m.position DESC LIMIT 1
"""  # noqa: S608 - our own condition
