"""Jump to a date in a thread."""

from everloop.log import Reader, visible
from everloop.thread.queries import threads
from everloop.thread.queries.threads import MessagePage


def page_from_day(reader: Reader, thread_id: str, day: str, limit: int) -> MessagePage:
    """A page from the first message on or after a day; the newest page if there is none."""
    rows = reader.rows(_FIRST, (thread_id, day))
    if not rows:
        return threads.newest_messages(reader, thread_id, limit)
    (message_id,) = rows[0]
    rest = threads.messages_around(reader, thread_id, message_id, limit, "after")
    before = threads.messages_around(reader, thread_id, message_id, 1, "before")
    messages = (threads.find_message(reader, message_id), *rest.messages)
    later = rest.later or len(messages) > limit
    return MessagePage(messages[:limit], earlier=bool(before.messages), later=later)


_FIRST = f"""
SELECT m.message_id FROM thread_messages m
WHERE m.thread_id = ? AND m.day >= ? AND {visible("m")}
ORDER BY m.day, m.asked_at, m.asked, m.position LIMIT 1
"""  # noqa: S608 - our own condition
