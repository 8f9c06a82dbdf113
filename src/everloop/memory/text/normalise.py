"""Text normalisation: strips accents and invisible characters, and spells out umlauts. Pure."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

_SPELT: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_WITH_UMLAUT = re.compile(r"\b\w*[äöüÄÖÜ]\w*")
_WORD = re.compile(r"\w+")
_DOT_ABOVE: Final = "\u0307"  # what lower-casing leaves of a Turkish capital I
# Soft hyphens, zero-width spaces, byte order marks; joiners only after Latin letters, because in
# other scripts they distinguish words, and they join emoji.
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]|(?<=[A-Za-z\u00c0-\u024f])[\u200c\u200d]")
_VOWEL_SIGNS = re.compile("[\u0591-\u05c7\u0640\u064b-\u065f\u0670]")  # Hebrew and Arabic


class _Folding(dict[int, str]):
    """Translation table from code points to letters without accents, filled on demand."""

    def __missing__(self, number: int) -> str:
        """A letter without its accent: nothing for a bare accent, unchanged in most scripts."""
        letter = chr(number)
        base = unicodedata.normalize("NFD", letter)[0]
        stays = base >= "\u0530" or letter in "йЙ"
        self[number] = letter if stays else "" if unicodedata.combining(base) else base
        return self[number]


_FOLDED: Final = _Folding(
    str.maketrans(
        {
            "ø": "o",
            "Ø": "O",
            "ł": "l",
            "Ł": "L",
            "đ": "d",
            "Đ": "D",
            "\u0131": "i",
            "æ": "ae",
            "Æ": "AE",
            "œ": "oe",
            "Œ": "OE",
        }
    )
)


def strip_accents(text: str) -> str:
    """Strip accents of Latin, Greek and Cyrillic, and vowel signs of Hebrew and Arabic.

    The short i of Cyrillic stays: it is a letter of its own. So do marks of other scripts.
    Invisible characters are removed.
    """
    if text.isascii():
        return text
    bare = _VOWEL_SIGNS.sub("", strip_invisible(text))
    return unicodedata.normalize("NFKC", bare).translate(_FOLDED)


def strip_invisible(text: str) -> str:
    """The text without invisible characters inside its words."""
    return _INVISIBLE.sub("", text)


def lower_case(text: str) -> str:
    """The text in lower case, with accents."""
    return unicodedata.normalize("NFC", text).lower()


def accented_words(text: str) -> dict[str, str]:
    """The words of a text that have accents, in lower case, by their form without accents."""
    if text.isascii():
        return {}
    whole = unicodedata.normalize("NFKC", strip_invisible(text)).casefold().replace(_DOT_ABOVE, "")
    return {strip_accents(word): word for word in _WORD.findall(whole) if not word.isascii()}


def write_out_umlauts(word: str) -> str:
    """A word spelt without umlauts: Koeln for Köln."""
    return word.translate(_SPELT)


def words_without_umlauts(text: str) -> Iterator[str]:
    """The words of a text that have an umlaut, spelt without it."""
    if text.isascii():
        return
    yield from map(
        write_out_umlauts, _WITH_UMLAUT.findall(unicodedata.normalize("NFC", strip_invisible(text)))
    )
