"""What can happen to a source that is captured from."""

from everloop.log import Event, event


@event("lessons.entry_captured")
class EntryCaptured(Event, frozen=True):
    """An entry of a source was put forward as a lesson.

    `replaces` is the lesson that the entry was put forward as before its words were changed.
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
    """A growing file was read up to `offset`. `head` is a digest of how it begins."""

    source_id: str
    kind: str
    name: str
    offset: int
    head: str
