"""What is new in a source since it was last read: pure."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

import msgspec

from everloop.lessons.capture.entries import Entry
from everloop.lessons.capture.state import Captured, SourceState

ALIKE: Final = 0.6  # how alike two descriptions must be for one to be the other, changed


class Change(msgspec.Struct, frozen=True):
    """An entry to put forward. `replaces` is the digest of the entry it was before; else empty."""

    entry: Entry
    digest: str
    replaces: str = ""


def additions(source: SourceState, kind: str, entries: Sequence[Entry]) -> tuple[Change, ...]:
    """The entries of a growing source that are not known yet. A known key comes with new words."""
    fresh = {entry.digest(kind): entry for entry in entries}
    keys = {old.key: name for name, old in source.entries.items() if name not in source.gone}
    found: list[Change] = []
    for digest, entry in fresh.items():
        if digest not in source.entries:
            found.append(Change(entry, digest, keys.get(entry.key, "") if entry.key else ""))
            keys[entry.key] = digest
    return tuple(found)


def changes(source: SourceState, kind: str, entries: Sequence[Entry]) -> tuple[Change, ...]:
    """The new entries of a source that was read as a whole, and what each was before.

    An entry that is no longer there was removed, or changed into one that has its key, or that says
    nearly the same.
    """
    now = {entry.digest(kind): entry for entry in entries}
    standing = {name: old for name, old in source.entries.items() if name not in source.gone}
    missing = {name: old for name, old in standing.items() if name not in now}
    found: list[Change] = []
    for digest, entry in now.items():
        if digest not in standing:
            replaces = _before(entry, missing)
            missing.pop(replaces, None)
            found.append(Change(entry, digest, replaces))
    return tuple(found)


def _before(entry: Entry, missing: dict[str, Captured]) -> str:
    """The digest of what an entry was before; empty if it is new."""
    for digest, old in missing.items():
        if entry.key and old.key == entry.key:
            return digest
    scores = {digest: _likeness(entry, old) for digest, old in missing.items()}
    best = max(scores, key=lambda digest: scores[digest], default="")
    return best if scores.get(best, 0.0) >= ALIKE else ""


def _likeness(entry: Entry, old: Captured) -> float:
    return SequenceMatcher(None, entry.description, old.description, autojunk=False).ratio()
