"""Parsing what the player writes: speech, actions, words outside the story, and who is addressed.

`*she nods*` is an action and `((brb))` is outside the story. In a message with "quotes", what
stands between them is said and the rest is done; in one without, plain text is said.
"""

import re
from collections.abc import Mapping

from everloop.worlds.model.values import Passage

_OUTSIDE = re.compile(r"\(\((.*?)\)\)", re.DOTALL)
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]+)[\"”“»]")
_STARRED = re.compile(r"\*+([^*]+)\*+|(?<![\w])_([^_\n]+)_(?![\w])")


def parse_message(text: str) -> tuple[Passage, ...]:
    """The passages of a message, in order."""
    passages: list[Passage] = []
    end = 0
    has_quotes = bool(_QUOTED.search(_OUTSIDE.sub("", text)))
    for outside in _OUTSIDE.finditer(text):
        passages += _inside(text[end : outside.start()], has_quotes=has_quotes)
        passages += _passage("outside", outside[1])
        end = outside.end()
    passages += _inside(text[end:], has_quotes=has_quotes)
    return tuple(passages)


def told_text(passages: tuple[Passage, ...]) -> str:
    """What a character may read of a message: everything but the words outside the story."""
    told = [
        f"*{one.text}*" if one.kind == "action" else one.text
        for one in passages
        if one.kind != "outside"
    ]
    return " ".join(told)


def directions(passages: tuple[Passage, ...]) -> str:
    """What the player said outside the story, to whoever tells it."""
    return " ".join(one.text for one in passages if one.kind == "outside")


def find_addressee(text: str, present: Mapping[str, str], default: str = "") -> str:
    """The one character whose name is in a message; the default if none or several are."""
    named = [who for who, name in present.items() if mentions(text, name)]
    return named[0] if len(named) == 1 else default


def mentions(text: str, name: str) -> bool:
    """Whether a text has a name, or its first word, as a whole word."""
    return any(
        re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text, re.IGNORECASE)
        for each in {name, *name.split()[:1]}
        if each
    )


def _inside(text: str, *, has_quotes: bool) -> list[Passage]:
    pattern = _QUOTED if has_quotes else _STARRED
    within, around = ("speech", "action") if has_quotes else ("action", "speech")
    passages: list[Passage] = []
    end = 0
    for found in pattern.finditer(text):
        passages += _passage(around, text[end : found.start()])
        passages += _passage(within, found[1] or found[found.lastindex or 1])
        end = found.end()
    return [*passages, *_passage(around, text[end:])]


def _passage(kind: str, text: str) -> list[Passage]:
    plain = text.strip() if kind != "action" else text.strip(" \n\t,;*_")
    if not re.search(r"\w", plain):
        return []
    match kind:
        case "speech":
            return [Passage("speech", plain)]
        case "action":
            return [Passage("action", plain)]
        case _:
            return [Passage("outside", plain)]
