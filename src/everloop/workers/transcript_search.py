"""Search in what workers showed: their words, tool calls, what tools gave back, output of commands.

For the owner only: there is no audience check here.
"""

import re
import unicodedata
from datetime import datetime

import msgspec

from everloop.log import Reader, visible
from everloop.workers.model.events import TranscriptEntry
from everloop.workers.queries import TranscriptPart, decode_part

EXCERPT_BEFORE, EXCERPT_CHARACTERS = 80, 320
WORD = re.compile(r"[^\W_]")


class TranscriptHit(msgspec.Struct, frozen=True):
    """A place in a transcript. `kind` and `name` are those of the entry, as in the transcript."""

    task_id: str
    position: int
    attempt: int
    at: datetime
    kind: str
    name: str
    excerpt: str


def search_transcripts(reader: Reader, query: str, limit: int) -> list[TranscriptHit]:
    """The newest places that have all words of a query, each as the beginning of a word."""
    words = [word for word in query.replace("\0", " ").split() if WORD.search(word)]
    if not words:
        return []
    rows = reader.rows(_FOUND, (" ".join(map(_as_prefix, words)), limit))
    return [_to_hit(task_id, decode_part(*row), words) for task_id, *row in rows]


def _as_prefix(word: str) -> str:
    doubled = word.replace('"', '""')
    return f'"{doubled}"*'


def _to_hit(task_id: str, part: TranscriptPart, words: list[str]) -> TranscriptHit:
    """The entry that has the most of the words, cut to what is around the first of them."""
    entry = max(part.entries, key=lambda one: sum(_place(one, word) >= 0 for word in words))
    first = max(0, min((at for word in words if (at := _place(entry, word)) >= 0), default=0))
    begin = max(0, first - EXCERPT_BEFORE)
    text = entry.text[begin : begin + EXCERPT_CHARACTERS]
    excerpt = f"{'…' if begin else ''}{text}{'…' if begin + len(text) < len(entry.text) else ''}"
    return TranscriptHit(
        task_id, part.position, part.attempt, part.at, entry.kind, entry.name, excerpt
    )


def _place(entry: TranscriptEntry, word: str) -> int:
    """Where a word is in an entry, as the index compares; -1 if it is not there."""
    return _folded(entry.text).find(_folded(word))


def _folded(text: str) -> str:
    """Lower case, without accents."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFD", text.lower())
    return "".join(one for one in apart if not unicodedata.combining(one))


_FOUND = f"""
SELECT p.task_id, p.position, l.schema, l.data, l.recorded_at
FROM worker_transcript_words w CROSS JOIN worker_transcripts p ON p.position = w.rowid
CROSS JOIN log l ON l.position = p.position
WHERE worker_transcript_words MATCH ? AND {visible("p")}
AND EXISTS (SELECT 1 FROM worker_tasks t WHERE t.task_id = p.task_id AND {visible("t")})
ORDER BY w.rowid DESC LIMIT ?
"""  # noqa: S608 - our own conditions
