"""The commands on a capture source."""

from everloop.lessons.capture.entries import Mark, Origin
from everloop.log import Command


class NoteEntry(Command, frozen=True):
    """Record that an entry was proposed. `replaces` is the digest of its previous version."""

    origin: Origin
    key: str
    digest: str
    description: str
    lesson_id: str
    replaces: str = ""


class NoteRead(Command, frozen=True):
    """Record the offset up to which a growing file was read."""

    origin: Origin
    mark: Mark
