"""The input of capture: a source file, its entries, and what could not be read."""

from hashlib import sha256
from typing import Final

import msgspec

from everloop.memory.model.scopes import check_scope

AUTO_MEMORY: Final = "auto_memory"
TRANSCRIPT: Final = "transcript"
LEARNINGS: Final = "learnings_md"
JSONL: Final = "jsonl"

DESCRIPTION_MAX: Final = 140


class CaptureSource(msgspec.Struct, frozen=True):
    """A source file. `source_id` is a digest of its path; the path itself is not stored."""

    source_id: str
    kind: str
    name: str


class CaptureEntry(msgspec.Struct, frozen=True):
    """One rule in a source.

    `key` is its name there, if it has one: an entry with a known key and another text has changed.
    `quote` is an excerpt of the user's `message`; both are empty if no message states the rule.
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
        """The identity of the entry: the same text in the same scope is proposed once."""
        words = (kind, self.scope, self.description, self.body)
        return sha256(msgspec.json.encode(words)).hexdigest()[:32]


class CaptureProblem(msgspec.Struct, frozen=True):
    """A part of a source that was skipped, with the problem and a hint."""

    name: str
    problem: str
    hint: str = ""


class ReadOffset(msgspec.Struct, frozen=True):
    """A read position in a growing file. `head` is a digest of the file's beginning."""

    offset: int = 0
    head: str = ""


def truncate_first_line(text: str, characters: int = DESCRIPTION_MAX) -> str:
    """The first line of a text, truncated at a word."""
    first = text.strip().partition("\n")[0].strip()
    if len(first) <= characters:
        return first
    return f"{first[: characters - 1].rsplit(' ', 1)[0]}…"


def project_scope(folder: str) -> str:
    """The scope of a project's folder; `user` if the folder has no name."""
    plain = "".join("-" if sign == "*" or not sign.isprintable() else sign for sign in folder)
    name = plain.strip()[:99].rstrip()
    return check_scope(f"project:{name}") if name else "user"
