"""Decisions about capture sources: each entry is recorded once, and each new offset."""

from everloop.errors import Invalid
from everloop.lessons.capture.commands import NoteEntry, NoteRead
from everloop.lessons.capture.events import EntryCaptured, SourceRead
from everloop.lessons.capture.state import SourceState
from everloop.log import DecisionContext, Event


def note_entry(
    source: SourceState | None, command: NoteEntry, asking: DecisionContext
) -> list[Event]:
    """Record an entry. A known one that was not replaced since is not recorded again."""
    del asking
    known = source or SourceState()
    if command.digest in known.entries and command.digest not in known.gone:
        return []
    replaced = known.entries.get(command.replaces)
    return [
        EntryCaptured(
            source_id=command.origin.source_id,
            kind=command.origin.kind,
            name=_check_name(command.origin.name),
            key=command.key,
            digest=command.digest,
            description=command.description,
            lesson_id=command.lesson_id,
            replaces=replaced.lesson_id if replaced else "",
        )
    ]


def note_read(
    source: SourceState | None, command: NoteRead, asking: DecisionContext
) -> list[Event]:
    """Record the offset up to which it was read, if it is new."""
    del asking
    known = source or SourceState()
    if command.mark == known.mark:
        return []
    origin = command.origin
    return [
        SourceRead(
            source_id=origin.source_id,
            kind=origin.kind,
            name=_check_name(origin.name),
            offset=command.mark.offset,
            head=command.mark.head,
        )
    ]


def _check_name(name: str) -> str:
    if not name or "/" in name or "\\" in name:
        raise Invalid(f"{name!r} is not a file's name", hint="Give the name without the path.")
    return name
