"""Commands of importing."""

import msgspec

from everloop.log import Command, Draft
from everloop.worlds.exchange.model.events import ImportNote


class BeginImport(Command, frozen=True):
    """Begin an import, or go on with it."""

    import_id: str
    source: str
    name: str


class EndImport(Command, frozen=True):
    """Record what became of a file."""

    import_id: str
    notes: tuple[ImportNote, ...]


class AddLorebook(Command, frozen=True):
    """Add a lorebook to the library."""

    book_id: str
    name: str
    form: str
    frame: str
    because: tuple[int, ...] = ()


class ImportChat(Command, frozen=True):
    """Record which chat a world is made of."""

    world_id: str
    import_id: str
    name: str
    header: str


class ImportedMessage(msgspec.Struct, frozen=True):
    """A message to import. With versions, `text` is that of the chosen one."""

    message_id: str
    speaker: str
    text: str
    witnesses: tuple[str, ...]
    said_at: str = ""
    source: str = ""
    versions: tuple[str, ...] = ()
    chosen: int = 0
    hidden: bool = False


class ImportMessages(Command, frozen=True):
    """Import messages into the open scene. Those that exist are skipped."""

    world_id: str
    messages: tuple[ImportedMessage, ...]


class ReplayFacts(Command, frozen=True):
    """Record the facts of an exported world as they were."""

    world_id: str
    drafts: tuple[Draft, ...]


class ReplayLore(Command, frozen=True):
    """Record the facts about the lore of an exported world as they were."""

    world_id: str
    drafts: tuple[Draft, ...]
