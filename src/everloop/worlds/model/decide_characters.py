"""Deciders of the character library."""

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.log import DecisionContext, Draft
from everloop.worlds.model import commands as c
from everloop.worlds.model import events as e
from everloop.worlds.model.checks import NAME_MAX, require_line
from everloop.worlds.model.state import Character
from everloop.worlds.model.values import NARRATOR, PLAYER, CharacterSheet

SHEET_MAX = 2_000_000  # characters of one sheet, the imported card included


def author_character(
    known: Character | None, command: c.AuthorCharacter, asking: DecisionContext
) -> list[Draft]:
    """Add a character to the library."""
    _check_actor(asking)
    if command.character_id in (PLAYER, NARRATOR, ""):
        raise Invalid(f"{command.character_id!r} cannot be a character's id", hint="Use another.")
    if known is not None:
        raise Conflict(
            f"there is a character {command.character_id!r} already", hint="Use another id."
        )
    sheet = _check_sheet(command.sheet)
    return [Draft(e.CharacterAuthored(command.character_id, sheet), command.because)]


def revise_character(
    known: Character | None, command: c.ReviseCharacter, asking: DecisionContext
) -> list[Draft]:
    """Change a character's sheet."""
    character, sheet = _require(known, command.character_id, asking), _check_sheet(command.sheet)
    if sheet == character.sheet:
        return []
    return [Draft(e.CharacterRevised(command.character_id, sheet), (character.position,))]


def remove_character(
    known: Character | None, command: c.RemoveCharacter, asking: DecisionContext
) -> list[Draft]:
    """Remove a character from the library."""
    character = _require(known, command.character_id, asking)
    removed = Draft(e.CharacterRemoved(command.character_id), (character.position,))
    return [] if character.removed else [removed]


def restore_character(
    known: Character | None, command: c.RestoreCharacter, asking: DecisionContext
) -> list[Draft]:
    """Put a removed character back."""
    character = _require(known, command.character_id, asking)
    restored = Draft(e.CharacterRestored(command.character_id), (character.position,))
    return [restored] if character.removed else []


def _require(known: Character | None, character_id: str, asking: DecisionContext) -> Character:
    _check_actor(asking)
    if known is None:
        raise NotFound(
            f"no character {character_id!r}", hint="`everloop worlds characters` lists them."
        )
    return known


def _check_actor(asking: DecisionContext) -> None:
    actor = asking.by.actor
    if actor != "user" and not actor.startswith("import:"):
        raise Forbidden(f"{actor!r} may not change characters", hint="Ask the player to.")


def _check_sheet(sheet: CharacterSheet) -> CharacterSheet:
    require_line(sheet.name, "a character's name", NAME_MAX)
    size = sum(len(str(value)) for value in (*_texts(sheet), sheet.card))
    if size > SHEET_MAX:
        raise Invalid(
            f"a character has at most {SHEET_MAX:,} characters, this one {size:,}",
            hint="Move background into lore entries.",
        )
    return sheet


def _texts(sheet: CharacterSheet) -> tuple[str, ...]:
    lists = (*sheet.traits, *sheet.voice_samples, *sheet.greetings, *sheet.tags)
    return (sheet.name, sheet.description, sheet.personality, sheet.scenario, *lists)
