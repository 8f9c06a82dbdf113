"""The user's custom instructions, for all conversations and for one, with their versions."""

from datetime import datetime

import msgspec

from everloop.log import Reader, visible
from everloop.log.model.record import from_microseconds


class Instructions(msgspec.Struct, frozen=True):
    """One version of instructions. Without a thread they are for all conversations."""

    position: int
    thread_id: str
    text: str
    at: datetime


def instruction_versions(reader: Reader, thread_id: str, most: int = 50) -> list[Instructions]:
    """The versions of the instructions for a thread, or for all, newest first."""
    return [
        Instructions(position, named, text, from_microseconds(at))
        for position, named, text, at in reader.rows(_VERSIONS, (thread_id, most))
    ]


def current_instructions(reader: Reader, thread_id: str) -> list[Instructions]:
    """What a model is told in a thread: the instructions for all, then those for the thread."""
    newest = [instruction_versions(reader, name, 1) for name in dict.fromkeys(("", thread_id))]
    return [version for versions in newest for version in versions if version.text]


_VERSIONS = f"""
SELECT i.position, i.thread_id, i.text, i.at FROM thread_instructions i
WHERE i.thread_id = ? AND {visible("i")} ORDER BY i.position DESC LIMIT ?
"""  # noqa: S608 - our own condition
