"""Macros in cards: the names of the character and the player, and comments."""

import re
from typing import Final

_CHAR: Final = re.compile(r"\{\{char\}\}|<bot>|<char>", re.IGNORECASE)
_USER: Final = re.compile(r"\{\{user\}\}|<user>", re.IGNORECASE)
_COMMENT: Final = re.compile(r"\{\{(?://|comment:)[^{}]*\}\}", re.IGNORECASE)


def expand_macros(text: str, character: str, player: str) -> str:
    """A text of a card with names in place of their macros, without comments."""
    named = _CHAR.sub(lambda _: character, text)
    return _COMMENT.sub("", _USER.sub(lambda _: player, named))
