"""Vector quantisation: bfloat16 halves and sign bits, and how vectors are compared in them.

Also picks the smallest or largest of many values without sorting them all. Pure numpy.
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.row_sets import Rows

Floats = NDArray[np.float32]

_LOW_AND_HIGH = (0, 1) if sys.byteorder == "little" else (1, 0)
_UPPER = np.uint32(0xFFFF0000)
SAMPLED, SPARE = 2_048, 8  # of many values, so many are sampled to guess a threshold; spare ones


def to_bfloat16(vectors: Floats) -> NDArray[np.uint16]:
    """Quantise float32 to bfloat16: the upper halves of the numbers, rounded."""
    whole = np.ascontiguousarray(vectors).view(np.uint32)
    return ((whole + np.uint32(0x8000)) >> np.uint32(16)).astype(np.uint16)


def from_bfloat16(vectors: NDArray[Any]) -> Floats:
    """Vectors as float32, whether stored so or as bfloat16. Four times faster than float16."""
    if vectors.dtype == np.float32:
        return vectors
    whole: Floats = (vectors.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return whole


def round_to_bfloat16(vectors: NDArray[Any]) -> Floats:
    """Vectors as float32 with the precision of bfloat16, however they are stored."""
    return from_bfloat16(to_bfloat16(vectors) if vectors.dtype == np.float32 else vectors)


class QueryVector:
    """A query vector that multiplies with stored vectors, whether float32 or bfloat16."""

    def __init__(self, whole: Floats) -> None:
        self.whole = whole
        # Of two halves in one word the first is the lower one, or the upper one if big-endian.
        self._low, self._high = (whole[at::2].copy() for at in _LOW_AND_HIGH)

    def dot_products(self, vectors: NDArray[Any], places: Rows) -> Floats:
        """The dot products with the vectors at some places."""
        if vectors.dtype == np.float32:
            products: Floats = vectors.take(places, axis=0) @ self.whole
            return products
        pairs = vectors.view(np.uint32).take(places, axis=0)  # much faster than one by one
        products = (pairs << np.uint32(16)).view(np.float32) @ self._low
        pairs &= _UPPER
        products += pairs.view(np.float32) @ self._high
        return products


def sign_bits(vectors: NDArray[Any], middle: Floats) -> NDArray[np.uint64]:
    """Sign quantisation: one bit for each number above the middle; 64 to a word, a row per word."""
    bits = np.packbits(vectors > middle, axis=1)
    padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64).T


def hamming_distances(signs: NDArray[np.uint64], asked: NDArray[np.uint64]) -> NDArray[Any]:
    """Hamming distances between sign bits and those of a query; three words fit into a byte."""
    size: int = signs.shape[1]
    found: NDArray[Any] = np.zeros(size, np.uint8) if len(signs) <= 3 else np.zeros(size, np.uint16)
    for word, said in zip(signs, asked, strict=True):
        np.add(found, np.bitwise_count(word ^ said), out=found)
    return found


def smallest_indices(values: NDArray[Any], count: int) -> Rows:
    """The indices of the `count` smallest of some small integers, or of more if some are equal.

    The threshold is guessed from a sample, and raised if that gives too few.
    """
    step = max(1, len(values) // SAMPLED)
    sample = np.sort(values[::step], kind="stable")
    least = sample.item(min(len(sample) - 1, count // step))
    while np.count_nonzero(good := values <= least) < count:
        least += 1
    places: Rows = good.nonzero()[0]
    return places


def largest_indices(values: NDArray[Any], count: int) -> Rows:
    """The indices of the `count` largest values, with all that equal the last of them."""
    step = len(values) // SAMPLED
    if step > 4:  # many values: first take those that a sample says are large
        sample = np.sort(values[::step])
        last = max(0, len(sample) - 2 * count // step - SPARE)
        likely: Rows = (values >= sample[last]).nonzero()[0]
        if len(likely) >= count:
            return likely.take(_largest(values.take(likely), count))
    return _largest(values, count)


def _largest(values: NDArray[Any], count: int) -> Rows:
    ordered, last = values.copy(), len(values) - count
    ordered.partition(last)  # the method: twice as fast as the function, where there are few
    places: Rows = (values >= ordered[last]).nonzero()[0]
    return places
