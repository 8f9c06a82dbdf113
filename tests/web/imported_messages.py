"""Fills a server with a long history of imported messages."""

from collections.abc import Sequence
from datetime import datetime

from everloop.app import USER, Engine
from everloop.thread.model.commands import HOME, BeginImport, ImportMessages
from everloop.thread.model.events import MessageImported

BATCH = 5_000


def imported_message(number: int, words: str, at: datetime) -> MessageImported:
    """An old message with a number; authors alternate."""
    return MessageImported(
        thread_id=HOME,
        message_id=f"old-{number}",
        role="assistant" if number % 2 else "user",
        text=f"Message {number}. " + words * (1 + number % 5),
        said_at=at.isoformat(),
        author="",
        external_id=str(number),
        attachments=(),
    )


def import_messages(engine: Engine, messages: Sequence[MessageImported]) -> None:
    """Import messages into the home thread."""
    engine.do(BeginImport(HOME, "imp-old", "jsonl", "old"), by=USER)
    for first in range(0, len(messages), BATCH):
        batch = tuple(messages[first : first + BATCH])
        engine.do(ImportMessages(HOME, "imp-old", batch), by=USER)
