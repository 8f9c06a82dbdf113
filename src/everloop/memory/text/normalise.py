"""Letters as terms have them: without accents, and as they are spelt where there are none. Pure."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

_SPELT: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_WITH_UMLAUT = re.compile(r"\b\w*[äöüÄÖÜ]\w*")
_WORD = re.compile(r"\w+")
_DOT_ABOVE: Final = "\u0307"  # what is left of a Turkish capital I in small letters
# Soft hyphens, spaces without width, marks of byte order; joiners only after Latin letters, for in
# other scripts they tell words apart, and families of emoji hang together by them.
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]|(?<=[A-Za-z\u00c0-\u024f])[\u200c\u200d]")
_VOWEL_SIGNS = re.compile("[\u0591-\u05c7\u0640\u064b-\u065f\u0670]")  # Hebrew and Arabic


class _Folding(dict[int, str]):
    """What letters become, by their numbers. Those that are not known are looked at once."""

    def __missing__(self, number: int) -> str:
        """What a letter becomes: nothing, if it is an accent; itself in most scripts."""
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


def unaccented(text: str) -> str:
    """The text without accents on Latin, Greek and Cyrillic, or vowel signs of Hebrew and Arabic.

    The short i of Cyrillic stays: it is a letter of its own. So do marks of other scripts. What is
    invisible goes.
    """
    if text.isascii():
        return text
    bare = _VOWEL_SIGNS.sub("", visible(text))
    return unicodedata.normalize("NFKC", bare).translate(_FOLDED)


def visible(text: str) -> str:
    """The text without characters inside its words that nobody sees."""
    return _INVISIBLE.sub("", text)


def small_letters(text: str) -> str:
    """The text in small letters, each with its accent."""
    return unicodedata.normalize("NFC", text).lower()


def accented_words(text: str) -> dict[str, str]:
    """The words of a text that have accents, in small letters, by what they are without."""
    if text.isascii():
        return {}
    whole = unicodedata.normalize("NFKC", visible(text)).casefold().replace(_DOT_ABOVE, "")
    return {unaccented(word): word for word in _WORD.findall(whole) if not word.isascii()}


def without_umlauts(word: str) -> str:
    """A word as it is spelt where there are no umlauts: Koeln for Köln."""
    return word.translate(_SPELT)


def spelt_without_umlauts(text: str) -> Iterator[str]:
    """The words with an umlaut, as they are spelt where there is none."""
    if text.isascii():
        return
    yield from map(
        without_umlauts, _WITH_UMLAUT.findall(unicodedata.normalize("NFC", visible(text)))
    )
