"""How vectors are kept and compared: halves of numbers, signs, the largest of many."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.row_sets import Rows

Floats = NDArray[np.float32]

_LOW_AND_HIGH = (0, 1) if sys.byteorder == "little" else (1, 0)
_UPPER = np.uint32(0xFFFF0000)
SAMPLED, SPARE = 2_048, 8  # of many numbers, so many tell how they lie, but for a few


def narrowed(vectors: Floats) -> NDArray[np.uint16]:
    """The upper halves of the numbers, rounded: as far as they go, but not as fine."""
    whole = np.ascontiguousarray(vectors).view(np.uint32)
    return ((whole + np.uint32(0x8000)) >> np.uint32(16)).astype(np.uint16)


def widened(vectors: NDArray[Any]) -> Floats:
    """Vectors as whole numbers, whichever way they are kept. Four times faster than float16."""
    if vectors.dtype == np.float32:
        return vectors
    whole: Floats = (vectors.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return whole


def rounded(vectors: NDArray[Any]) -> Floats:
    """Vectors as they are once they were narrowed, whether or not they are yet."""
    return widened(narrowed(vectors) if vectors.dtype == np.float32 else vectors)


class Query:
    """What vectors are multiplied with, whichever way they are kept."""

    def __init__(self, whole: Floats) -> None:
        self.whole = whole
        # Of two halves in one word, the first is the lower one, or the upper one on some machines.
        self._low, self._high = (whole[at::2].copy() for at in _LOW_AND_HIGH)

    def times(self, vectors: NDArray[Any], places: Rows) -> Floats:
        """The products with the vectors at some places."""
        if vectors.dtype == np.float32:
            products: Floats = vectors.take(places, axis=0) @ self.whole
            return products
        pairs = vectors.view(np.uint32).take(places, axis=0)  # much faster than one by one
        products = (pairs << np.uint32(16)).view(np.float32) @ self._low
        pairs &= _UPPER
        products += pairs.view(np.float32) @ self._high
        return products


def signs_of(vectors: NDArray[Any], middle: Floats) -> NDArray[np.uint64]:
    """On which side of the middle each number lies: 64 bits to a word, and a row for each word."""
    bits = np.packbits(vectors > middle, axis=1)
    padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64).T


def differing(signs: NDArray[np.uint64], asked: NDArray[np.uint64]) -> NDArray[Any]:
    """In how many signs each vector differs from what is asked; three words fit into a byte."""
    size: int = signs.shape[1]
    found: NDArray[Any] = np.zeros(size, np.uint8) if len(signs) <= 3 else np.zeros(size, np.uint16)
    for word, said in zip(signs, asked, strict=True):
        np.add(found, np.bitwise_count(word ^ said), out=found)
    return found


def smallest(values: NDArray[Any], count: int) -> Rows:
    """The places of the smallest of some small numbers: so many, or more if some are equal.

    How far they reach is guessed from a sample, and then put right if that is too few.
    """
    step = max(1, len(values) // SAMPLED)
    sample = np.sort(values[::step], kind="stable")
    least = sample.item(min(len(sample) - 1, count // step))
    while np.count_nonzero(good := values <= least) < count:
        least += 1
    places: Rows = good.nonzero()[0]
    return places


def largest(values: NDArray[Any], count: int) -> Rows:
    """The places of the largest values, with all that equal the last of them."""
    step = len(values) // SAMPLED
    if step > 4:  # of many, first those that a sample says are large
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
