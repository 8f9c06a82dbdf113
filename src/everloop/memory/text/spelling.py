"""Spelling correction: finds words at edit distance one, or with two letters swapped.

For questions with a typing error. Pure; knows nothing about who may see which word.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

LENGTH_MIN, LENGTH_MAX = 4, 20  # of words that are corrected
DOUBLED_MIN, WRONG_LETTER_MIN = (
    5,
    7,
)  # shortest words for an added or dropped letter, and for a wrong one
TWO_BYTES_END: Final = "\uffff"  # letters from here on need more than two bytes

Letters = NDArray[np.uint16]


def may_be_misspelt(word: str) -> bool:
    """Whether a word can be corrected: letters only, neither too few nor too many."""
    return LENGTH_MIN <= len(word) <= LENGTH_MAX and word.isalpha() and max(word) < TWO_BYTES_END


class SpellingIndex:
    """An index of words by their letters, from the front and from the back."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [word for word in words if may_be_misspelt(word)]
        self._lengths = np.fromiter(map(len, self._words), np.int64, len(self._words))
        self._front, self._back = _letters(self._words), _letters([w[::-1] for w in self._words])

    def similar_words(self, word: str) -> list[str]:
        """The words that differ from this one by one typing error.

        Short words often differ by one letter from others, so for these only swapped and doubled
        letters count.
        """
        size = len(word)
        some = np.flatnonzero(np.abs(self._lengths - size) <= 1)
        lengths, letters = self._lengths[some], self._front[some]
        (own,), (turned,) = _letters([word]), _letters([word[::-1]])
        front, back = _common_prefix(letters, own), _common_prefix(self._back[some], turned)
        shorter, longer = np.minimum(lengths, size), np.maximum(lengths, size)
        good = (lengths == size) & (front + back == size - 2)
        at = front[good]
        good[good] = (letters[good, at] == own[at + 1]) & (letters[good, at + 1] == own[at])
        if size >= DOUBLED_MIN:  # a doubled letter: the equal parts before and after overlap
            good |= (lengths != size) & (front + back >= shorter + 1)
        if size >= WRONG_LETTER_MIN:
            good |= (front + back >= longer - 1) & (front < longer)
        return [self._words[place] for place in some[good].tolist()]


def _letters(words: Sequence[str]) -> Letters:
    """The letters of words as a matrix, one row each, padded with 0."""
    made = np.array(words, f"U{LENGTH_MAX}").view(np.uint32).reshape(len(words), LENGTH_MAX)
    return made.astype(np.uint16)


def _common_prefix(letters: Letters, own: Letters) -> NDArray[np.int64]:
    """The length of the common prefix with each row; `LENGTH_MAX` if a row is the word itself."""
    other = letters != own
    found: NDArray[np.int64] = np.where(other.any(axis=1), other.argmax(axis=1), LENGTH_MAX)
    return found
