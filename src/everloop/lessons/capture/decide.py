"""Decisions about sources: an entry is noted once, and a mark only if it moved."""

from everloop.errors import Invalid
from everloop.lessons.capture.commands import NoteEntry, NoteRead
from everloop.lessons.capture.events import EntryCaptured, SourceRead
from everloop.lessons.capture.state import SourceState
from everloop.log import Asking, Event


def note_entry(source: SourceState | None, command: NoteEntry, asking: Asking) -> list[Event]:
    """Note an entry. One that is known, and was not changed since, is not noted again."""
    del asking
    known = source or SourceState()
    if command.digest in known.entries and command.digest not in known.gone:
        return []
    replaced = known.entries.get(command.replaces)
    return [
        EntryCaptured(
            source_id=command.origin.source_id,
            kind=command.origin.kind,
            name=_name(command.origin.name),
            key=command.key,
            digest=command.digest,
            description=command.description,
            lesson_id=command.lesson_id,
            replaces=replaced.lesson_id if replaced else "",
        )
    ]


def note_read(source: SourceState | None, command: NoteRead, asking: Asking) -> list[Event]:
    """Note how far it was read."""
    del asking
    known = source or SourceState()
    if command.mark == known.mark:
        return []
    origin = command.origin
    return [
        SourceRead(
            source_id=origin.source_id,
            kind=origin.kind,
            name=_name(origin.name),
            offset=command.mark.offset,
            head=command.mark.head,
        )
    ]


def _name(name: str) -> str:
    if not name or "/" in name or "\\" in name:
        raise Invalid(f"{name!r} is not a file's name", hint="Give the name without its path.")
    return name
