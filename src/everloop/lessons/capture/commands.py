"""The commands on a capture source."""

from everloop.lessons.capture.entries import CaptureSource, ReadOffset
from everloop.log import Command


class NoteEntry(Command, frozen=True):
    """Record that an entry was proposed. `replaces` is the digest of its previous version."""

    origin: CaptureSource
    key: str
    digest: str
    description: str
    lesson_id: str
    replaces: str = ""


class NoteRead(Command, frozen=True):
    """Record the offset up to which a growing file was read."""

    origin: CaptureSource
    mark: ReadOffset
