"""Parsing what the player writes: speech, actions, words outside the story, and who is addressed.

`*she nods*` is an action and `((brb))` is outside the story; also `((brb`, to the end. In a message
with "quotes", what stands between them is said and the rest is done; in one without, plain text is
said.
"""

import re
from collections.abc import Mapping

from everloop.worlds.model.values import Passage

_OUTSIDE = re.compile(r"\(\((.*?)\)\)", re.DOTALL)
_OUTSIDE_TO_THE_END = re.compile(r"(?<!\S)\(\((.*)", re.DOTALL)
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]+)[\"”“»]")
_STARRED = re.compile(r"(?<!\*)\*++([^*]+)\*+|(?<![\w])_([^_\n]+)_(?![\w])")


def parse_message(text: str) -> tuple[Passage, ...]:
    """The passages of a message, in order."""
    outside = _outside(text)
    ends = [0, *(found.end() for found in outside)]
    told = [
        text[end:start]
        for end, start in zip(ends, [*(found.start() for found in outside), len(text)], strict=True)
    ]
    has_quotes = bool(_QUOTED.search("".join(told)))
    passages = _inside(told[0], has_quotes=has_quotes)
    for found, after in zip(outside, told[1:], strict=True):
        passages += _passage("outside", found[1])
        passages += _inside(after, has_quotes=has_quotes)
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


def _outside(text: str) -> list[re.Match[str]]:
    """Where the words outside the story are. Nothing is looked for after the last `))` but once."""
    found = list(_OUTSIDE.finditer(text, 0, text.rfind("))") + 2 if "))" in text else 0))
    rest = _OUTSIDE_TO_THE_END.search(text, found[-1].end() if found else 0)
    return [*found, rest] if rest else found


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
