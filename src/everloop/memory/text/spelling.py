"""Words that are spelt nearly alike: one letter more, less or other, or two of them exchanged.

For what is asked with a slip of the finger. Pure: who may see which word is not known here.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

LENGTH_MIN, LENGTH_MAX = 4, 20  # of words that are looked at
DOUBLED_MIN, OTHER_MIN = 5, 7  # letters of a word from which on such slips are thought of
BEYOND: Final = "\uffff"  # letters from here on take more than two bytes

Letters = NDArray[np.uint16]


def may_be_misspelt(word: str) -> bool:
    """Whether a word is one of those that are looked at: letters alone, neither few nor many."""
    return LENGTH_MIN <= len(word) <= LENGTH_MAX and word.isalpha() and max(word) < BEYOND


class Spelling:
    """Words, by their letters from the front and from the back."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [word for word in words if may_be_misspelt(word)]
        self._lengths = np.fromiter(map(len, self._words), np.int64, len(self._words))
        self._front, self._back = _letters(self._words), _letters([w[::-1] for w in self._words])

    def near(self, word: str) -> list[str]:
        """Those of the words that a slip makes of this one, or this one of them.

        A short word is often another word but for one letter, so of those only exchanged and
        doubled letters are thought of.
        """
        size = len(word)
        some = np.flatnonzero(np.abs(self._lengths - size) <= 1)
        lengths, letters = self._lengths[some], self._front[some]
        (own,), (turned,) = _letters([word]), _letters([word[::-1]])
        front, back = _shared(letters, own), _shared(self._back[some], turned)
        shorter, longer = np.minimum(lengths, size), np.maximum(lengths, size)
        good = (lengths == size) & (front + back == size - 2)
        at = front[good]
        good[good] = (letters[good, at] == own[at + 1]) & (letters[good, at + 1] == own[at])
        if size >= DOUBLED_MIN:  # then the letters before it and those after it overlap
            good |= (lengths != size) & (front + back >= shorter + 1)
        if size >= OTHER_MIN:
            good |= (front + back >= longer - 1) & (front < longer)
        return [self._words[place] for place in some[good].tolist()]


def _letters(words: Sequence[str]) -> Letters:
    """The letters of words, a row each, with nothing after the last."""
    made = np.array(words, f"U{LENGTH_MAX}").view(np.uint32).reshape(len(words), LENGTH_MAX)
    return made.astype(np.uint16)


def _shared(letters: Letters, own: Letters) -> NDArray[np.int64]:
    """With how many letters of a word each row begins; if it is that word, with more than all."""
    other = letters != own
    found: NDArray[np.int64] = np.where(other.any(axis=1), other.argmax(axis=1), LENGTH_MAX)
    return found
