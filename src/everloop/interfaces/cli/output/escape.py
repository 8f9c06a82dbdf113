"""Escapes control characters, so that stored text cannot act on the terminal.

Anyone may have written what is in the log: a web page, an agent, a character. Printed raw, an
escape sequence could move the cursor, rename the window or hide what follows; a direction mark
could show text backwards. So every control or invisible format character is replaced by a visible
one.
"""

import unicodedata

CONTROL_PICTURES = 0x2400
DELETE = 0x7F
LINE_BREAKS = "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"
JOINERS = "\u200c\u200d"  # required by several scripts and by emoji
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def escape_controls(text: str) -> str:
    """`text` with control characters made visible, except line breaks and tabs."""
    if text.isascii() and text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("".join(_escape(character) for character in line) for line in lines)


def one_line(text: str, width: int | None = None) -> str:
    """`text` on one line: line breaks become spaces, and an ellipsis marks a cut at `width`."""
    enough = text if width is None else text[: 4 * width]  # the rest would be cut anyway
    flat = " ".join("".join(" " if c in LINE_BREAKS else c for c in enough).split())
    shown = escape_controls(flat)
    if width is None or len(shown) <= width:
        return shown
    return f"{shown[: max(width - 1, 0)].rstrip()}…"


def _escape(character: str) -> str:
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
