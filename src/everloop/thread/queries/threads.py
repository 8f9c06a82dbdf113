"""Queries on conversations: list of threads, pages of messages, turns and their phases.

For the owner only: there is no audience check here. Agents read messages through memory, which
checks visibility.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from everloop.errors import NotFound
from everloop.log import Reader, visible
from everloop.log.model.record import from_microseconds
from everloop.thread.model.calendar_windows import TimeZoneHistory
from everloop.thread.model.events import Attachment
from everloop.thread.model.state import BUILT_IN

MESSAGE_PAGE_MAX = 500
CUT_HINT = (
    "It reached the longest answer: continue it, or raise thread.answer.tokens_max. If the model's"
    " context was full, lower thread.context.hard."
)
ENDED = ("done", "stopped", "failed", "uncertain")


class Thread(msgspec.Struct, frozen=True):
    """A thread in the list of threads."""

    thread_id: str
    title: str
    archived: bool
    pinned: bool
    opened_at: datetime
    newest_at: datetime


class ToolName(msgspec.Struct, frozen=True):
    """A tool call of an answer, without what was asked and what came back."""

    call_id: str
    name: str
    failed: bool


class ThreadMessage(msgspec.Struct, frozen=True):
    """A message. `state` is sent, imported, done, stopped, failed, uncertain or purged."""

    position: int
    branch: str
    thread_id: str
    message_id: str
    role: str
    text: str
    state: str
    said_at: datetime
    turn_id: str
    hidden: bool
    model: str = ""
    reason: str = ""
    hint: str = ""
    attachments: tuple[Attachment, ...] = ()
    context_id: str = ""  # of an answer: the ledger of its prompt
    finish: str = ""  # of an answer: stop, length or refused
    reasoned: bool = False  # of an answer: whether the model's reasoning was recorded
    asked_at: datetime | None = None  # of an answer: when its question was sent
    tools: tuple[ToolName, ...] = ()


def is_material(message: ThreadMessage) -> bool:
    """Whether summaries may be made of a message: not of a hidden one, nor of the built-in model's.

    What the built-in model said only repeats what is in memory already.
    """
    return bool(message.text.strip()) and not message.hidden and message.model != BUILT_IN


class MessagePage(msgspec.Struct, frozen=True):
    """A page of messages in order, and whether there are earlier and later ones."""

    messages: tuple[ThreadMessage, ...]
    earlier: bool
    later: bool


class ToolUse(msgspec.Struct, frozen=True):
    """A tool call of a turn, with its result."""

    call_id: str
    name: str
    arguments: str
    result: str
    failed: bool


class TurnView(msgspec.Struct, frozen=True):
    """The current state of a turn. `saved` is the saved part of an answer that still streams."""

    turn_id: str
    thread_id: str
    message_id: str
    answer_id: str
    phase: str
    model: str
    context_id: str
    recorded_at: datetime
    phase_at: datetime
    saved: str
    reason: str
    hint: str
    tools: tuple[ToolUse, ...]
    reasoning: str = ""

    @property
    def open(self) -> bool:
        """Whether the turn has not ended."""
        return self.phase not in ENDED


class MessageFields(msgspec.Struct):
    """The fields of a stored event that a page shows."""

    text: str = ""
    model: str = ""
    reason: str = ""
    hint: str = ""
    attachments: tuple[Attachment, ...] = ()
    finish: str = ""


_decode_fields = msgspec.json.Decoder(MessageFields).decode
_decode_tool_names = msgspec.json.Decoder(tuple[ToolName, ...]).decode
_decode_found = msgspec.json.Decoder(list[MessageFields]).decode
NONE_FOUND = "[]"
Way = Literal["before", "after"]
Edge = tuple[int, int, int]  # the time and position of a question, the position of a message
EDGES: dict[Way, Edge] = {"before": (2**62, 2**62, 2**62), "after": (-(2**62), 0, 0)}


def missing_file_line(name: str) -> str:
    """The placeholder line in a message for a file that its export did not contain."""
    return f"[attached: {name}]"


def list_threads(reader: Reader, *, archived: bool = False) -> list[Thread]:
    """All threads, pinned ones first, then the most recently active first."""
    found = [_to_thread(row) for row in reader.rows(_THREADS, {"thread": None})]
    chosen = [one for one in found if archived or not one.archived]
    return sorted(
        chosen, key=lambda one: (not one.pinned, -one.newest_at.timestamp(), one.thread_id)
    )


def find_thread(reader: Reader, thread_id: str) -> Thread:
    """One thread.

    Raises:
        NotFound: there is no such thread.
    """
    rows = reader.rows(_THREADS, {"thread": thread_id})
    if not rows:
        raise NotFound(f"no thread {thread_id!r}", hint="`everloop threads` lists them.")
    return _to_thread(rows[0])


def opened_at(reader: Reader, thread_id: str) -> int:
    """The position of the event that opened a thread.

    Raises:
        NotFound: there is no such thread.
    """
    rows = reader.rows(_OPENED, (thread_id,))
    if not rows:
        raise NotFound(f"no thread {thread_id!r}", hint="`everloop threads` lists them.")
    return int(rows[0][0])


def newest_messages(reader: Reader, thread_id: str, limit: int = 50) -> MessagePage:
    """The newest page of a thread."""
    return messages_around(reader, thread_id, None, limit, "before")


def messages_around(
    reader: Reader, thread_id: str, message_id: str | None, limit: int, way: Way
) -> MessagePage:
    """A page before or after a message; without one, the last page or the first.

    Raises:
        NotFound: the message is not visible in the thread.
    """
    limit = max(1, min(limit, MESSAGE_PAGE_MAX))
    edge = EDGES[way] if message_id is None else _page_edge(reader, thread_id, message_id)
    rows = reader.rows(_PAGES[way], (thread_id, *edge, limit + 1))
    more, shown = len(rows) > limit, rows[:limit]
    ordered = shown if way == "after" else shown[::-1]
    messages = tuple(map(_to_message, ordered))
    beyond = message_id is not None
    if way == "before":
        return MessagePage(messages, earlier=more, later=beyond)
    return MessagePage(messages, earlier=beyond, later=more)


def messages_of_days(
    reader: Reader, thread_id: str, day: str, until: str = "9999"
) -> tuple[ThreadMessage, ...]:
    """The messages from `day` (inclusive) to `until` (exclusive), in order."""
    return tuple(map(_to_message, reader.rows(_FROM_DAY, (thread_id, day, until))))


def messages_since(reader: Reader, thread_id: str, day: str, most: int) -> list[ThreadMessage]:
    """The newest `most` messages since a day, in order."""
    return [_to_message(row) for row in reader.rows(_SINCE, (thread_id, day, most))]


def find_message(reader: Reader, message_id: str) -> ThreadMessage:
    """One message.

    Raises:
        NotFound: it is not visible.
    """
    rows = reader.rows(_ONE, (message_id,))
    if not rows:
        raise NotFound(
            f"no message {message_id!r}", hint="It was deleted, or is on another branch."
        )
    return _to_message(rows[0])


def find_turn(reader: Reader, turn_id: str) -> TurnView:
    """One turn.

    Raises:
        NotFound: it is not visible.
    """
    rows = reader.rows(_TURN, (turn_id,))
    if not rows:
        raise NotFound(f"no turn {turn_id!r}", hint="It was deleted, or is on another branch.")
    return _to_turn(reader, rows)


def questions_of_turns(reader: Reader, turn_ids: Sequence[str]) -> dict[str, str]:
    """The message that each of these turns answers, by turn id."""
    named = msgspec.json.encode(list(turn_ids)).decode()
    return dict(reader.rows(_QUESTIONS, (named,)))


def question_at(reader: Reader, position: int) -> str:
    """The id of the message that the turn recorded at a position answers."""
    rows = reader.rows("SELECT message_id FROM thread_turns WHERE position = ?", (position,))
    return str(rows[0][0]) if rows else ""


def hidden_messages(reader: Reader, message_ids: Sequence[str]) -> set[str]:
    """The hidden ones among these messages."""
    named = msgspec.json.encode(list(message_ids)).decode()
    return {row[0] for row in reader.rows(_HIDDEN, (named,))}


def threads_with_turns(reader: Reader) -> list[str]:
    """The threads that ever had a turn; the cost is one step for each thread, not each turn."""
    return [row[0] for row in reader.rows(_ANSWERED) if row[0] is not None]


def time_zones(reader: Reader) -> TimeZoneHistory:
    """The history of the person's time zones."""
    return TimeZoneHistory(reader.rows(_ZONES))


# -- inside ----------------------------------------------------------------------------------------

_ZONES = f"""
SELECT p.at, p.zone FROM thread_places p WHERE {visible("p")} ORDER BY p.at, p.position
"""  # noqa: S608 - our own condition

_THREADS = f"""
SELECT t.thread_id,
    (SELECT n.title FROM thread_threads n WHERE n.thread_id = t.thread_id AND n.title <> ''
     AND {visible("n")} ORDER BY n.position DESC LIMIT 1),
    (SELECT a.act FROM thread_threads a WHERE a.thread_id = t.thread_id
     AND a.act IN ('archived', 'restored') AND {visible("a")} ORDER BY a.position DESC LIMIT 1),
    (SELECT p.act FROM thread_threads p WHERE p.thread_id = t.thread_id
     AND p.act IN ('pinned', 'unpinned') AND {visible("p")} ORDER BY p.position DESC LIMIT 1),
    t.at,
    (SELECT m.said_at FROM thread_messages m WHERE m.thread_id = t.thread_id AND {visible("m")}
     ORDER BY m.asked_at DESC, m.asked DESC, m.position DESC LIMIT 1)
FROM thread_threads t
WHERE (:thread IS NULL OR t.thread_id = :thread) AND t.act = 'opened' AND {visible("t")}
"""  # noqa: S608 - our own conditions

_OPENED = f"""
SELECT t.position FROM thread_threads t
WHERE t.thread_id = ? AND t.act = 'opened' AND {visible("t")} LIMIT 1
"""  # noqa: S608 - our own condition

_COLUMNS = f"""
m.position, m.branch, m.thread_id, m.message_id, m.role, m.state, m.said_at, m.asked_at,
m.turn_id,
coalesce((SELECT h.hidden FROM thread_hidden h WHERE h.message_id = m.message_id AND {visible("h")}
          ORDER BY h.position DESC LIMIT 1), 0),
(SELECT l.data FROM log l WHERE l.position = m.position),
CASE WHEN m.role = 'user' THEN '' ELSE coalesce((SELECT t.context_id FROM thread_turns t
    WHERE t.turn_id = m.turn_id AND t.context_id <> '' LIMIT 1), '') END,
CASE WHEN m.state = 'imported' THEN (SELECT json_group_array(json(l.data)) FROM thread_files f
    JOIN log l ON l.position = f.position AND l.data IS NOT NULL
    WHERE f.message_id = m.message_id AND {visible("f")}) END,
m.turn_id <> '' AND EXISTS (SELECT 1 FROM thread_reasoning r WHERE r.turn_id = m.turn_id),
CASE WHEN m.turn_id <> '' THEN (SELECT json_group_array(json_object(
    'call_id', u.call_id, 'name', u.name, 'failed', json(iif(u.failed, 'true', 'false')))
    ORDER BY u.position) FROM thread_tools u WHERE u.turn_id = m.turn_id AND {visible("u")}) END
"""  # noqa: S608 - our own conditions

_PAGES: dict[Way, str] = {
    "before": f"""
    SELECT {_COLUMNS} FROM thread_messages m
    WHERE m.thread_id = ? AND (m.asked_at, m.asked, m.position) < (?, ?, ?) AND {visible("m")}
    ORDER BY m.asked_at DESC, m.asked DESC, m.position DESC LIMIT ?
    """,  # noqa: S608 - our own conditions
    "after": f"""
    SELECT {_COLUMNS} FROM thread_messages m
    WHERE m.thread_id = ? AND (m.asked_at, m.asked, m.position) > (?, ?, ?) AND {visible("m")}
    ORDER BY m.asked_at, m.asked, m.position LIMIT ?
    """,  # noqa: S608 - our own conditions
}
_FROM_DAY = f"""
SELECT {_COLUMNS} FROM thread_messages m
WHERE m.thread_id = ? AND m.day >= ? AND m.day < ? AND {visible("m")}
ORDER BY m.asked_at, m.asked, m.position
"""  # noqa: S608 - our own conditions
_SINCE = f"""
SELECT {_COLUMNS} FROM thread_messages m WHERE m.position IN (
    SELECT m.position FROM thread_messages m
    WHERE m.thread_id = ? AND m.day >= ? AND {visible("m")}
    ORDER BY m.asked_at DESC, m.asked DESC, m.position DESC LIMIT ?)
ORDER BY m.asked_at, m.asked, m.position
"""  # noqa: S608 - our own conditions
_ONE = f"""
SELECT {_COLUMNS} FROM thread_messages m WHERE m.message_id = ? AND {visible("m")}
ORDER BY m.position DESC LIMIT 1
"""  # noqa: S608 - our own conditions
_EDGE = f"""
SELECT m.asked_at, m.asked, m.position FROM thread_messages m
WHERE m.message_id = ? AND m.thread_id = ? AND {visible("m")} ORDER BY m.position DESC LIMIT 1
"""  # noqa: S608 - our own conditions
_TURN = f"""
SELECT t.phase, t.thread_id, t.turn_id, t.message_id, t.answer_id, t.model, t.context_id, t.reason,
    t.hint, l.recorded_at
FROM thread_turns t JOIN log l ON l.position = t.position
WHERE t.turn_id = ? AND {visible("t")} ORDER BY t.position
"""  # noqa: S608 - our own conditions
_ANSWERED = """
WITH RECURSIVE known(thread_id) AS (
    SELECT min(thread_id) FROM thread_turns
    UNION ALL
    SELECT (SELECT min(t.thread_id) FROM thread_turns t WHERE t.thread_id > known.thread_id)
    FROM known WHERE known.thread_id IS NOT NULL)
SELECT thread_id FROM known
"""
_QUESTIONS = f"""
SELECT t.turn_id, t.message_id FROM json_each(?) j JOIN thread_turns t ON t.turn_id = j.value
WHERE t.phase = 'recorded' AND {visible("t")}
"""  # noqa: S608 - our own condition
_HIDDEN = f"""
SELECT j.value FROM json_each(?) j WHERE (
    SELECT h.hidden FROM thread_hidden h WHERE h.message_id = j.value AND {visible("h")}
    ORDER BY h.position DESC LIMIT 1)
"""  # noqa: S608 - our own condition
_SAVED = f"""
SELECT l.data FROM log l WHERE +l.stream = ? AND l.kind = 'thread.answer_saved'
AND l.position > ? AND {visible("l")} ORDER BY l.position
"""  # noqa: S608 - our own conditions
_TOOLS = f"""
SELECT l.data FROM thread_tools u JOIN log l ON l.position = u.position
WHERE u.turn_id = ? AND {visible("u")} ORDER BY u.position
"""  # noqa: S608 - our own conditions

_REASONING = f"""
SELECT json_extract(l.data, '$.text') FROM thread_reasoning r JOIN log l ON l.position = r.position
WHERE r.turn_id = ? AND {visible("r")} ORDER BY r.position
"""  # noqa: S608 - our own conditions


class _Saved(msgspec.Struct):
    turn_id: str
    text: str


_decode_saved = msgspec.json.Decoder(_Saved).decode
_decode_tool = msgspec.json.Decoder(ToolUse).decode


def _to_thread(row: tuple[Any, ...]) -> Thread:
    thread_id, title, act, pin, at, spoken = row
    return Thread(
        thread_id,
        title,
        act == "archived",
        pin == "pinned",
        from_microseconds(at),
        from_microseconds(spoken or at),
    )


def _page_edge(reader: Reader, thread_id: str, message_id: str) -> Edge:
    rows = reader.rows(_EDGE, (message_id, thread_id))
    if not rows:
        raise NotFound(
            f"no message {message_id!r}", hint="It was deleted, or is on another branch."
        )
    when, asked, position = rows[0]
    return when, asked, position


def _to_message(row: tuple[Any, ...]) -> ThreadMessage:
    position, branch, thread_id, message_id, role, state, said_at, asked_at, turn_id = row[:9]
    hidden, data, context_id, found, reasoned, tools = row[9:]
    words = _decode_fields(data) if data is not None else MessageFields()
    if found and found != NONE_FOUND:
        words = _with_files(words, found)
    return ThreadMessage(
        position,
        branch,
        thread_id,
        message_id,
        role,
        words.text,
        state if data is not None else "purged",
        from_microseconds(said_at),
        turn_id,
        bool(hidden),
        words.model,
        words.reason,
        CUT_HINT if words.finish == "length" else words.hint,
        words.attachments,
        context_id,
        words.finish,
        bool(reasoned),
        from_microseconds(asked_at),
        _decode_tool_names(tools) if tools and tools != NONE_FOUND else (),
    )


def _with_files(words: MessageFields, found: str) -> MessageFields:
    """The message with files that were added later, instead of their placeholder lines."""
    files = tuple(file for one in _decode_found(found) for file in one.attachments)
    lines = words.text.split("\n")
    for file in files:
        if (named := missing_file_line(file.name)) in lines:
            lines.remove(named)
    return MessageFields("\n".join(lines), attachments=(*words.attachments, *files))


def _to_turn(reader: Reader, rows: Sequence[tuple[Any, ...]]) -> TurnView:
    phase, thread_id, turn_id = rows[-1][:3]
    message_id, answer_id, model, context_id, reason, hint = (
        next((row[column] for row in reversed(rows) if row[column]), "") for column in range(3, 9)
    )
    saved = "" if phase in ENDED else _saved_text(reader, thread_id, turn_id)
    tools = tuple(_decode_tool(row[0]) for row in reader.rows(_TOOLS, (turn_id,)) if row[0])
    return TurnView(
        turn_id,
        thread_id,
        message_id,
        answer_id,
        phase,
        model,
        context_id,
        from_microseconds(rows[0][9]),
        from_microseconds(rows[-1][9]),
        saved,
        reason,
        hint,
        tools,
        "\n\n".join(row[0] for row in reader.rows(_REASONING, (turn_id,)) if row[0]),
    )


def _saved_text(reader: Reader, thread_id: str, turn_id: str) -> str:
    """The saved part of an answer that still streams. Only open turns have one."""
    first = reader.rows("SELECT min(position) FROM thread_turns WHERE turn_id = ?", (turn_id,))
    rows = reader.rows(_SAVED, (f"thread:{thread_id}", first[0][0]))
    parts = [_decode_saved(row[0]) for row in rows if row[0]]
    return "".join(part.text for part in parts if part.turn_id == turn_id)
