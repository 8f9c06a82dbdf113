"""Events of importing: the import itself, lorebooks of the library, and where messages came from.

Everything that an import brings in is derived from `ImportBegun`; retracting it undoes the import.
"""

from typing import Literal

import msgspec

from everloop.log import Event, event


class ImportNote(msgspec.Struct, frozen=True):
    """What became of something in an imported file."""

    what: Literal["kept", "changed", "dropped", "asked"]
    subject: str
    reason: str = ""


@event("worlds.import_begun")
class ImportBegun(Event, frozen=True):
    """An import began. The same files have the same id."""

    import_id: str
    source: str
    name: str


@event("worlds.import_ended")
class ImportEnded(Event, frozen=True):
    """All of a file was imported; the notes tell what was kept, changed and dropped."""

    import_id: str
    notes: tuple[ImportNote, ...]


@event("worlds.lorebook_added")
class LorebookAdded(Event, frozen=True):
    """A lorebook was added to the library. `frame` is its JSON without the entries.

    Its entries are recorded like those of a world, under the id of the book.
    """

    book_id: str
    name: str
    form: str
    frame: str


@event("worlds.chat_imported")
class ChatImported(Event, frozen=True):
    """A world was made of a chat. `header` is the JSON of its first line."""

    world_id: str
    import_id: str
    name: str
    header: str


@event("worlds.message_imported")
class MessageImported(Event, frozen=True):
    """Where a message came from: when it was sent there, and its JSON without the text."""

    world_id: str
    message_id: str
    said_at: str
    source: str
