"""Which files in the file store belong to characters: portraits and other assets of their cards."""

from collections.abc import Sequence

from everloop.log import Event, Reader
from everloop.log.model.event import decode
from everloop.worlds.model.events import CharacterAuthored, CharacterRevised

PICTURED = (CharacterAuthored, CharacterRevised)
_KINDS = ", ".join(f"'{event.wire}'" for event in PICTURED)
_FACTS = f"SELECT kind, schema, data FROM log WHERE kind IN ({_KINDS}) AND data IS NOT NULL"  # noqa: S608 - our kinds


def character_files(event: Event) -> set[str]:
    """The digests of the files that an event brings to a character."""
    if not isinstance(event, PICTURED):
        return set()
    sheet = event.sheet
    return {sheet.portrait, *(file.digest for file in sheet.files)} - {""}


def all_character_files(reader: Reader) -> set[str]:
    """The digests of the files of all characters, on any branch."""
    return _files(reader.rows(_FACTS))


def character_files_at(reader: Reader, positions: Sequence[int]) -> set[str]:
    """The digests of the files that the facts at these positions bring to characters."""
    at = f"{_FACTS} AND position = ?"
    return _files([row for position in positions for row in reader.rows(at, (position,))])


def _files(rows: Sequence[tuple[str, int, str]]) -> set[str]:
    return {digest for row in rows for digest in character_files(decode(*row))}
