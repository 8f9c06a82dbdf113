"""What capture reads: a source, its entries, and what could not be read."""

from hashlib import sha256
from typing import Final

import msgspec

from everloop.memory.model.scopes import check_scope

AUTO_MEMORY: Final = "auto_memory"
TRANSCRIPT: Final = "transcript"
LEARNINGS: Final = "learnings_md"
JSONL: Final = "jsonl"

DESCRIPTION_MAX: Final = 140


class Origin(msgspec.Struct, frozen=True):
    """A file that is read. `source_id` is a digest of where it lies; the path is not kept."""

    source_id: str
    kind: str
    name: str


class Entry(msgspec.Struct, frozen=True):
    """One rule as a source has it.

    `key` is its name there, if it has one: an entry of that name with other words has changed.
    `quote` are words that a user said in `message`; both are empty if nobody was heard to say it.
    """

    key: str
    description: str
    body: str
    scope: str
    quote: str = ""
    message: str = ""
    session: str = ""
    folder: str = ""
    said_at: str = ""

    def digest(self, kind: str) -> str:
        """What tells it from others: the same words for the same scope are proposed once."""
        words = (kind, self.scope, self.description, self.body)
        return sha256(msgspec.json.encode(words)).hexdigest()[:32]


class Trouble(msgspec.Struct, frozen=True):
    """Something of a source that was passed over, and what to do about it."""

    name: str
    problem: str
    hint: str = ""


class Mark(msgspec.Struct, frozen=True):
    """How far a growing file was read. `head` is a digest of how it begins."""

    offset: int = 0
    head: str = ""


def shortened(text: str, characters: int = DESCRIPTION_MAX) -> str:
    """The first line of a text, cut at a word."""
    first = text.strip().partition("\n")[0].strip()
    if len(first) <= characters:
        return first
    return f"{first[: characters - 1].rsplit(' ', 1)[0]}…"


def project_scope(folder: str) -> str:
    """The scope of a project's folder; without a name it is the user's."""
    plain = "".join("-" if sign == "*" or not sign.isprintable() else sign for sign in folder)
    name = plain.strip()[:99].rstrip()
    return check_scope(f"project:{name}") if name else "user"
