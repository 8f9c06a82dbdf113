"""A long past for a house, taken in as an import takes it in."""

from collections.abc import Sequence
from datetime import datetime

from everloop.app import USER, Engine
from everloop.thread.model.commands import HOME, BeginImport, ImportMessages
from everloop.thread.model.events import MessageImported

BATCH = 5_000


def said_once(number: int, words: str, at: datetime) -> MessageImported:
    """A message of long ago: by turns of both sides, and called by its number."""
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


def take_in(engine: Engine, messages: Sequence[MessageImported]) -> None:
    """Put messages into the home thread."""
    engine.do(BeginImport(HOME, "imp-old", "jsonl", "old"), by=USER)
    for first in range(0, len(messages), BATCH):
        batch = tuple(messages[first : first + BATCH])
        engine.do(ImportMessages(HOME, "imp-old", batch), by=USER)
