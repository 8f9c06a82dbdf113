"""The lorebook of a character's card, as lore of a world that the character plays in."""

import msgspec

from everloop.worlds.exchange.formats.cards import card_book, card_of_sheet
from everloop.worlds.exchange.formats.lorebooks import read_book
from everloop.worlds.model.story_events import LoreEntry
from everloop.worlds.model.values import CharacterSheet


def character_lore(
    character_id: str, sheet: CharacterSheet, *, owner_only: bool = False
) -> tuple[LoreEntry, ...]:
    """The lore entries on a character's card: known to all, or to the character alone."""
    card = card_of_sheet(sheet)
    book = card_book(card) if card is not None else None
    if book is None:
        return ()
    entries = read_book(book, character_id, sheet.name).book.entries
    audience = (character_id,) if owner_only else ()
    return tuple(msgspec.structs.replace(entry, audience=audience) for entry in entries)
