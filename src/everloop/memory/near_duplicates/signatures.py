"""Term signatures (Bloom filters): which of many texts may contain most of some terms.

Every term sets two bits of its text. If one of them is not set, the text does not contain the term;
if both are, it probably does. So a text with enough of the terms is never missed, and few others
are left to check. The bits are stored by bit and not by text, so a query reads only the bits that
its terms set.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

BITS = 1_024  # of a signature
ROOM = 128  # texts that the first allocation has room for
TOGETHER = 4_096  # texts added at once
UNPACKED_MAX = 2**22  # bits unpacked in one step
TERMS_KEPT = 65_536  # terms whose hashes are cached
MANY = 255  # terms that one byte can count

Places = NDArray[np.int64]
Counts = NDArray[Any]  # uint8 or uint16

_GOLDEN = 11_400_714_819_323_198_485


class TermSignatures:
    """The signatures of texts, in the order in which they were added."""

    def __init__(self) -> None:
        self._size = 0
        self._bits = np.zeros((BITS, ROOM // 8), np.uint8)  # eight texts in a byte

    def __len__(self) -> int:
        """How many texts there are."""
        return self._size

    def extend(self, texts: Iterable[Sequence[str]]) -> None:
        """Add texts, each given by its terms."""
        coming = iter(texts)
        while some := list(islice(coming, TOGETHER)):
            self._add(some)

    def shared_counts(self, terms: Sequence[str]) -> Counts:
        """An upper bound of how many of some terms each text contains."""
        found: Counts = np.zeros(self._size, np.uint8 if len(terms) <= MANY else np.uint16)
        first, second = _bits(terms)
        step = max(1, UNPACKED_MAX // (8 * len(terms) or 1))
        for start in range(0, -(-self._size // 8), step):
            both = self._bits[first, start : start + step]
            both &= self._bits[second, start : start + step]
            part = found[8 * start : 8 * (start + step)]
            held = np.unpackbits(both, axis=1, count=len(part))
            np.add.reduce(held, axis=0, dtype=found.dtype, out=part)
        return found

    def _add(self, texts: Sequence[Sequence[str]]) -> None:
        byte, start = divmod(self._size, 8)
        self._size += len(texts)
        self._grow(-(-self._size // 8))
        if len(texts) == 1:
            for bits in _bits(texts[0]):
                self._bits[bits, byte] |= 128 >> start
            return
        here = np.zeros((BITS, start + len(texts)), np.bool_)
        places = np.arange(start, start + len(texts)).repeat([len(terms) for terms in texts])
        for bits in _bits(list(chain.from_iterable(texts))):
            here[bits, places] = True
        packed = np.packbits(here, axis=1)
        self._bits[:, byte : byte + packed.shape[1]] |= packed

    def _grow(self, room: int) -> None:
        if room > self._bits.shape[1]:
            bits = np.zeros((BITS, max(room, 2 * self._bits.shape[1])), np.uint8)
            bits[:, : self._bits.shape[1]] = self._bits
            self._bits = bits


def _bits(terms: Sequence[str]) -> tuple[Places, Places]:
    """The two bits that each term sets."""
    numbers = np.fromiter(map(_hash, terms), np.int64, len(terms))
    return numbers % BITS, numbers // BITS


@lru_cache(TERMS_KEPT)
def _hash(term: str) -> int:
    """A hash below the square of `BITS`; similar words have unrelated ones."""
    return crc32(term.encode()) * _GOLDEN % 2**64 * BITS**2 >> 64
