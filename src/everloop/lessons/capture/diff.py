"""The difference between a source and its last reading: new and changed entries. Pure."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

import msgspec

from everloop.lessons.capture.entries import CaptureEntry
from everloop.lessons.capture.state import KnownEntry, SourceState

SIMILARITY_MIN: Final = 0.6  # minimum similarity of two descriptions to count as the same entry


class EntryChange(msgspec.Struct, frozen=True):
    """An entry to propose. `replaces` is the digest of its previous version; empty if it is new."""

    entry: CaptureEntry
    digest: str
    replaces: str = ""


def new_entries(
    source: SourceState, kind: str, entries: Sequence[CaptureEntry]
) -> tuple[EntryChange, ...]:
    """The new entries of a growing source. One with a known key replaces the earlier one."""
    fresh = {entry.digest(kind): entry for entry in entries}
    keys = {old.key: name for name, old in source.entries.items() if name not in source.gone}
    found: list[EntryChange] = []
    for digest, entry in fresh.items():
        if digest not in source.entries:
            found.append(EntryChange(entry, digest, keys.get(entry.key, "") if entry.key else ""))
            keys[entry.key] = digest
    return tuple(found)


def changed_entries(
    source: SourceState, kind: str, entries: Sequence[CaptureEntry]
) -> tuple[EntryChange, ...]:
    """The new entries of a source that was read as a whole, with their previous versions.

    A missing entry was removed, or changed into one with the same key or a similar description.
    """
    now = {entry.digest(kind): entry for entry in entries}
    standing = {name: old for name, old in source.entries.items() if name not in source.gone}
    missing = {name: old for name, old in standing.items() if name not in now}
    found: list[EntryChange] = []
    for digest, entry in now.items():
        if digest not in standing:
            replaces = _previous_version(entry, missing)
            missing.pop(replaces, None)
            found.append(EntryChange(entry, digest, replaces))
    return tuple(found)


def _previous_version(entry: CaptureEntry, missing: dict[str, KnownEntry]) -> str:
    """The digest of an entry's previous version; empty if it is new."""
    for digest, old in missing.items():
        if entry.key and old.key == entry.key:
            return digest
    scores = {digest: _similarity(entry, old) for digest, old in missing.items()}
    best = max(scores, key=lambda digest: scores[digest], default="")
    return best if scores.get(best, 0.0) >= SIMILARITY_MIN else ""


def _similarity(entry: CaptureEntry, old: KnownEntry) -> float:
    return SequenceMatcher(None, entry.description, old.description, autojunk=False).ratio()
