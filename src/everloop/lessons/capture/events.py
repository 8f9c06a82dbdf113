"""The events of a capture source."""

from everloop.log import Event, event


@event("lessons.entry_captured")
class EntryCaptured(Event, frozen=True):
    """An entry of a source was proposed as a lesson.

    `replaces` is the lesson of the entry's previous version.
    """

    source_id: str
    kind: str
    name: str
    key: str
    digest: str
    description: str
    lesson_id: str
    replaces: str


@event("lessons.source_read")
class SourceRead(Event, frozen=True):
    """A growing file was read up to `offset`. `head` is a digest of the file's beginning."""

    source_id: str
    kind: str
    name: str
    offset: int
    head: str
