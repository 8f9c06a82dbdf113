"""The decider table of capture sources."""

from typing import Any

from everloop.lessons.capture.commands import NoteEntry, NoteRead
from everloop.lessons.capture.decide import note_entry, note_read
from everloop.lessons.capture.state import SOURCE, source_stream
from everloop.log import Decider


def _stream(command: NoteEntry | NoteRead) -> str:
    return source_stream(command.origin.source_id)


CAPTURE_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(NoteEntry, _stream, SOURCE, note_entry),
    Decider(NoteRead, _stream, SOURCE, note_read),
)
