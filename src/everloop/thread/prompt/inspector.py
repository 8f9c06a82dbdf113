"""Prompt inspector: the sections and pieces of a sent prompt, with their sources and text."""

import msgspec

from everloop.errors import NotFound
from everloop.log import Reader, visible
from everloop.log.model.record import fact_of
from everloop.memory.model.events import ContextAssembled, Ledger, LedgerEntry, PromptTextKept
from everloop.memory.model.state import context_stream

WORDS = 400  # characters shown of a piece
SORTS = {
    "thread.message_sent": "message",
    "thread.message_imported": "message",
    "thread.answer_given": "message",
    "thread.turn_stopped": "message",
    "thread.turn_failed": "message",
    "thread.turn_left_uncertain": "message",
    "thread.instructions_set": "instructions",
    "memory.remembered": "memory",
    "memory.revised": "memory",
}
OWN_TEXT = {"you": "instructions", "now": "clock", "nothing": "nothing"}  # ours, not a fact's


class InspectedPiece(msgspec.Struct, frozen=True):
    """A piece of a prompt: its tokens, why it was left out, its kind, and how its text begins."""

    key: str
    tokens: int
    left_out: str
    positions: tuple[int, ...]
    sort: str
    text: str


class InspectedSection(msgspec.Struct, frozen=True):
    """A section of a prompt."""

    name: str
    tier: str
    tokens: int
    tokens_max: int
    pieces: tuple[InspectedPiece, ...]


class SentText(msgspec.Struct, frozen=True):
    """A text of a prompt as it was sent; None if something quoted in it was deleted or purged."""

    name: str
    text: str | None


class InspectedPrompt(msgspec.Struct, frozen=True):
    """A sent prompt in all its parts."""

    context_id: str
    tokens: int
    soft: int
    hard: int
    counted_by: str
    exact: bool
    sections: tuple[InspectedSection, ...]
    texts: tuple[SentText, ...]


class _PieceText(msgspec.Struct):
    text: str = ""
    description: str = ""
    note: str = ""
    title: str = ""


_IS_VISIBLE = f"SELECT 1 FROM log l WHERE l.position = ? AND {visible('l')}"  # noqa: S608
_decode_text = msgspec.json.Decoder(_PieceText).decode


def inspect_prompt(reader: Reader, context_id: str) -> InspectedPrompt:
    """The prompt with this context id.

    Raises:
        NotFound: there is no such prompt.
    """
    rows = reader.rows(
        "SELECT position FROM log WHERE stream = ? ORDER BY position LIMIT 1",
        (context_stream(context_id),),
    )
    happened = fact_of(reader.record(rows[0][0])).event if rows else None
    if not isinstance(happened, ContextAssembled):
        raise NotFound(f"no prompt {context_id!r}", hint="Open the prompt from its answer.")
    texts = tuple(_sent_text(reader, *one) for one in happened.texts.items())
    return _inspect_ledger(reader, context_id, happened.ledger, texts)


def _sent_text(reader: Reader, name: str, position: int) -> SentText:
    """The text at a position, if it is still there."""
    event = fact_of(reader.record(position)).event
    if isinstance(event, PromptTextKept) and reader.rows(_IS_VISIBLE, (position,)):
        return SentText(name, event.text)
    return SentText(name, None)


def _inspect_ledger(
    reader: Reader, context_id: str, ledger: Ledger, texts: tuple[SentText, ...]
) -> InspectedPrompt:
    return InspectedPrompt(
        context_id,
        ledger.tokens,
        ledger.soft,
        ledger.hard,
        ledger.counted_by,
        ledger.exact,
        tuple(
            InspectedSection(
                section.name,
                section.tier,
                section.tokens,
                section.tokens_max,
                tuple(
                    InspectedPiece(
                        entry.key,
                        entry.tokens,
                        entry.left_out,
                        entry.positions,
                        *_kind_and_text(reader, entry),
                    )
                    for entry in section.entries
                ),
            )
            for section in ledger.sections
        ),
        texts,
    )


def _kind_and_text(reader: Reader, entry: LedgerEntry) -> tuple[str, str]:
    """The kind of a piece, and how its text begins; no text if it was deleted or purged."""
    positions = entry.positions
    if not positions or entry.key in OWN_TEXT:
        return OWN_TEXT.get(entry.key, ""), ""
    record = reader.record(positions[0])
    if not reader.rows(_IS_VISIBLE, (positions[0],)):
        return "gone", ""
    words = _decode_text(record.data) if record.data is not None else _PieceText()
    text = words.text or words.description or words.note or words.title
    sort = SORTS.get(record.kind, record.kind.partition(".")[0])
    return sort, text[:WORDS]
