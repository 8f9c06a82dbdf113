"""Queries on the notes of a thread: topics, decisions and intents."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from everloop.errors import NotFound
from everloop.log import Reader, visible
from everloop.log.model.record import from_microseconds


class Note(msgspec.Struct, frozen=True):
    """A topic, decision or intent. `text` is the state of a topic, or the note itself."""

    note_id: str
    thread_id: str
    sort: str
    title: str
    text: str
    open: bool
    position: int
    at: datetime


def list_notes(reader: Reader, thread_id: str, *, closed: bool = False) -> list[Note]:
    """The notes of a thread, the newest first; closed ones only with `closed`."""
    found = _fold(thread_id, reader.rows(_ALL, (thread_id,)))
    return [note for note in found if closed or note.open]


def find_note(reader: Reader, thread_id: str, note_id: str) -> Note:
    """One note of a thread; its cost does not grow with the others.

    Raises:
        NotFound: there is none.
    """
    named = msgspec.json.encode([note_id]).decode()
    for note in _fold(thread_id, reader.rows(NAMED_NOTES, (named, thread_id))):
        return note
    raise NotFound(f"no note {note_id!r} in this thread", hint="It may be on another branch.")


def notes_for_prompt(
    reader: Reader, thread_id: str, open_ids: Iterable[str], most: int
) -> list[Note]:
    """The newest decisions and the open topics and intents, the newest first.

    Closed notes are not read, so the cost does not grow over the years.
    """
    decisions = (row[0] for row in reader.rows(_DECISIONS, (thread_id, most)))
    named = msgspec.json.encode([*open_ids, *decisions]).decode()
    return _fold(thread_id, reader.rows(NAMED_NOTES, (named, thread_id)))[:most]


# -- inside ----------------------------------------------------------------------------------------

_COLUMNS = "n.position, n.note_id, n.sort, n.act, n.text, n.at"
_ALL = f"""
SELECT {_COLUMNS} FROM thread_notes n
WHERE n.thread_id = ? AND {visible("n")} ORDER BY n.position
"""  # noqa: S608 - our own condition
_DECISIONS = f"""
SELECT n.note_id FROM thread_notes n
WHERE n.thread_id = ? AND n.sort = 'decision' AND {visible("n")} ORDER BY n.position DESC LIMIT ?
"""  # noqa: S608 - our own condition
NAMED_NOTES = f"""
SELECT {_COLUMNS} FROM json_each(?) j CROSS JOIN thread_notes n ON n.note_id = j.value
WHERE n.thread_id = ? AND {visible("n")} ORDER BY n.position
"""  # noqa: S608 - our own condition


def _fold(thread_id: str, rows: Iterable[tuple[Any, ...]]) -> list[Note]:
    """Fold rows into notes, the newest first."""
    found: dict[str, Note] = {}
    for position, note_id, sort, act, text, at in rows:
        known = found.get(note_id)
        title = text if known is None else known.title
        newest = text or (known.text if known else "")
        found[note_id] = Note(
            note_id,
            thread_id,
            sort,
            title,
            newest,
            act != "closed",
            position,
            from_microseconds(at),
        )
    return sorted(found.values(), key=lambda note: -note.position)
