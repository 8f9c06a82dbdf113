"""What can be asked of a source."""

from everloop.lessons.capture.entries import Mark, Origin
from everloop.log import Command


class NoteEntry(Command, frozen=True):
    """Note that an entry was put forward. `replaces` is the digest of the entry it came after."""

    origin: Origin
    key: str
    digest: str
    description: str
    lesson_id: str
    replaces: str = ""


class NoteRead(Command, frozen=True):
    """Note how far a growing file was read."""

    origin: Origin
    mark: Mark
