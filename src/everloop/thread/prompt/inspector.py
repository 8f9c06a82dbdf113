"""What a prompt was made of, for a person to see: each piece with what it is and what it says."""

import msgspec

from everloop.errors import NotFound
from everloop.log import Reader, visible
from everloop.log.model.record import fact_of
from everloop.memory.model.events import ContextAssembled, Ledger
from everloop.memory.model.state import context_stream

WORDS = 400  # characters of a piece that are shown
SORTS = {
    "thread.message_sent": "message",
    "thread.message_imported": "message",
    "thread.answer_given": "message",
    "thread.turn_stopped": "message",
    "thread.turn_failed": "message",
    "thread.turn_left_uncertain": "message",
    "memory.remembered": "memory",
    "memory.revised": "memory",
}


class Seen(msgspec.Struct, frozen=True):
    """One piece: which section, what it took, why it is not in, what it is, and its words."""

    key: str
    tokens: int
    left_out: str
    positions: tuple[int, ...]
    sort: str
    text: str


class SeenSection(msgspec.Struct, frozen=True):
    """One section of the prompt."""

    name: str
    tier: str
    tokens: int
    tokens_max: int
    pieces: tuple[Seen, ...]


class Inspected(msgspec.Struct, frozen=True):
    """A prompt, opened."""

    context_id: str
    tokens: int
    soft: int
    hard: int
    counted_by: str
    exact: bool
    sections: tuple[SeenSection, ...]


class _Words(msgspec.Struct):
    text: str = ""
    description: str = ""
    note: str = ""
    title: str = ""


_COUNTS = f"SELECT 1 FROM log l WHERE l.position = ? AND {visible('l')}"  # noqa: S608
_read = msgspec.json.Decoder(_Words).decode


def inspect(reader: Reader, context_id: str) -> Inspected:
    """The prompt of that name.

    Raises:
        NotFound: there is none.
    """
    rows = reader.rows(
        "SELECT position FROM log WHERE stream = ? ORDER BY position LIMIT 1",
        (context_stream(context_id),),
    )
    happened = fact_of(reader.record(rows[0][0])).event if rows else None
    if not isinstance(happened, ContextAssembled):
        raise NotFound(f"no prompt {context_id!r}", hint="Open one from its answer.")
    return _opened(reader, context_id, happened.ledger)


def _opened(reader: Reader, context_id: str, ledger: Ledger) -> Inspected:
    return Inspected(
        context_id,
        ledger.tokens,
        ledger.soft,
        ledger.hard,
        ledger.counted_by,
        ledger.exact,
        tuple(
            SeenSection(
                section.name,
                section.tier,
                section.tokens,
                section.tokens_max,
                tuple(
                    Seen(
                        entry.key,
                        entry.tokens,
                        entry.left_out,
                        entry.positions,
                        *_what(reader, section.name, entry.positions),
                    )
                    for entry in section.entries
                ),
            )
            for section in ledger.sections
        ),
    )


def _what(reader: Reader, section: str, positions: tuple[int, ...]) -> tuple[str, str]:
    """What a piece is, and how it begins. What was taken back or purged says nothing."""
    if not positions or section == "you":
        return ("instructions", "") if section == "you" else ("", "")
    record = reader.record(positions[0])
    if not reader.rows(_COUNTS, (positions[0],)):
        return "gone", ""
    words = _read(record.data) if record.data is not None else _Words()
    text = words.text or words.description or words.note or words.title
    sort = SORTS.get(record.kind, record.kind.partition(".")[0])
    return sort, text[:WORDS]
