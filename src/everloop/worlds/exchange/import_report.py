"""What an import is given, and what it comes to."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from everloop.worlds.exchange.model.events import ImportNote

SourceKind = Literal["card", "lorebook", "chat", "personas", "sillytavern", "everloop"]


class StoredFile(Protocol):
    """A file in the file store."""

    @property
    def digest(self) -> str:
        """Its name there."""
        ...


class FileKeeper(Protocol):
    """The file store, as an import uses it."""

    def store(self, name: str, media_type: str, content: Iterable[bytes]) -> StoredFile:
        """Store a file."""
        ...

    def path(self, digest: str) -> Path:
        """Where a file lies."""
        ...


class ImportChoices(msgspec.Struct, frozen=True):
    """What the player chose. `casts` names, for each group, the two characters to play with."""

    casts: Mapping[str, tuple[str, ...]] = {}
    player_name: str = ""
    owner_lore: bool = False  # lore on a card is known to its character alone
    into_world: str = ""  # the world that gets an imported lorebook


class CastQuestion(msgspec.Struct, frozen=True):
    """A group with more characters than a world has room for: which of them play?"""

    group: str
    names: tuple[str, ...]
    room: int


class WorldImportResult(msgspec.Struct, frozen=True):
    """What an import came to. Retract `position` to undo it."""

    import_id: str
    position: int
    source: SourceKind
    name: str
    characters: tuple[str, ...] = ()
    worlds: tuple[str, ...] = ()
    books: tuple[str, ...] = ()
    messages: int = 0
    notes: tuple[ImportNote, ...] = ()
    questions: tuple[CastQuestion, ...] = ()


class ImportReport:
    """Collects what became of each thing in a file. Notes alike are counted, not repeated."""

    def __init__(self) -> None:
        self._notes: dict[ImportNote, int] = {}
        self.questions: list[CastQuestion] = []

    def keep(self, subject: str, reason: str = "") -> None:
        """Note that something was kept as it is."""
        self._add(ImportNote("kept", subject, reason))

    def change(self, subject: str, reason: str) -> None:
        """Note that something is not quite as it was."""
        self._add(ImportNote("changed", subject, reason))

    def drop(self, subject: str, reason: str) -> None:
        """Note that something was left out."""
        self._add(ImportNote("dropped", subject, reason))

    def ask(self, question: CastQuestion) -> None:
        """Note what only the player can answer."""
        self.questions.append(question)
        names = ", ".join(question.names)
        self._add(ImportNote("asked", question.group, f"which {question.room} of: {names}?"))

    def notes(self) -> tuple[ImportNote, ...]:
        """All notes, in the order in which they came."""
        return tuple(
            note
            if count == 1
            else msgspec.structs.replace(note, reason=f"{note.reason} ({count:,} times)".strip())
            for note, count in self._notes.items()
        )

    def _add(self, note: ImportNote) -> None:
        self._notes[note] = self._notes.get(note, 0) + 1


def digest_of(*parts: str | bytes) -> str:
    """A short fingerprint of texts: the same for the same ones."""
    whole = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        whole.update(f"{len(data)}:".encode())
        whole.update(data)
    return whole.hexdigest()[:24]
