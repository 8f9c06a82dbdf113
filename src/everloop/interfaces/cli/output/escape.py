"""Stored text made harmless for a terminal.

What is in the log was written by anyone: a web page, an agent, a character. Printed raw, an escape
sequence could move the cursor, rename the window or hide what follows; a direction mark could show
text backwards. So every control or invisible format character is shown as a visible sign instead.
"""

import unicodedata

CONTROL_PICTURES = 0x2400
DELETE = 0x7F
LINE_BREAKS = "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"
JOINERS = "\u200c\u200d"  # several scripts and emoji need them to be spelled at all
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def inert(text: str) -> str:
    """`text` with line breaks and tabs kept, and everything else that could act made visible."""
    if text.isascii() and text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("".join(_shown(character) for character in line) for line in lines)


def one_line(text: str, width: int | None = None) -> str:
    """`text` on one line, breaks shown as spaces, cut to `width` characters with an ellipsis."""
    enough = text if width is None else text[: 4 * width]  # what is cut need not be looked at
    flat = " ".join("".join(" " if c in LINE_BREAKS else c for c in enough).split())
    shown = inert(flat)
    if width is None or len(shown) <= width:
        return shown
    return f"{shown[: max(width - 1, 0)].rstrip()}…"


def _shown(character: str) -> str:
    if character.isprintable() or character in JOINERS:
        return character
    if character == "\t":
        return "    "
    code = ord(character)
    if code < 0x20:
        return chr(CONTROL_PICTURES + code)
    if code == DELETE:
        return "\N{SYMBOL FOR DELETE}"
    if unicodedata.category(character) not in HIDDEN:
        return character  # a kind of space
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
