"""The folded state of a capture source: only what decisions need."""

import msgspec

from everloop.lessons.capture.entries import ReadOffset
from everloop.lessons.capture.events import EntryCaptured, SourceRead
from everloop.log import Fact, Fold


class KnownEntry(msgspec.Struct, frozen=True):
    """An entry that was proposed."""

    key: str
    description: str
    lesson_id: str


class SourceState(msgspec.Struct, frozen=True):
    """A source as it was last read. `gone` are entries that a newer version replaced."""

    mark: ReadOffset = ReadOffset()
    entries: dict[str, KnownEntry] = {}  # by digest
    gone: frozenset[str] = frozenset()


def evolve(source: SourceState | None, fact: Fact) -> SourceState:
    """The source after a fact."""
    before = source or SourceState()
    match fact.event:
        case SourceRead(offset=offset, head=head):
            return msgspec.structs.replace(before, mark=ReadOffset(offset, head))
        case EntryCaptured(digest=digest, replaces=replaced) as captured:
            entry = KnownEntry(captured.key, captured.description, captured.lesson_id)
            entries = {**before.entries, digest: entry}
            old = {each for each, known in entries.items() if known.lesson_id == replaced}
            gone = (before.gone | old) - {digest}
            return msgspec.structs.replace(before, entries=entries, gone=gone)
        case _:
            return before


SOURCE = Fold("lessons.source", SourceState, evolve)


def source_stream(source_id: str) -> str:
    """The stream of a source."""
    return f"capture:{source_id}"
