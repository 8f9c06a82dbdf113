"""Batch embedding with fallback: embeds many texts although the model may refuse some of them.

A text that is too long, or that the model returns no numbers for, must not cost the others their
vectors. A batch that fails is split in halves and retried, until only the refused text is left out.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from everloop.errors import ModelFailed
from everloop.memory.index.quantisation import Floats
from everloop.ports import Embedder

REFUSED_MAX = 3  # texts refused in a row; after that the model itself has failed


class BatchEmbedder:
    """Embeds batches of texts, as long as `going()` is true. Remembers the last refusal."""

    def __init__(self, embedder: Embedder, going: Callable[[], bool]) -> None:
        self._embedder = embedder
        self._going = going
        self._refused_in_a_row = 0
        self.refusal: ModelFailed | None = None

    def embed(self, texts: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float16]]]:
        """The vectors of these texts in half precision, each with its text's index.

        A refused text has no vector.

        Raises:
            ModelFailed: the model failed, or refused too many.
        """
        for place, vectors in self._embed_by_halves(texts, 0):
            yield from enumerate(vectors.astype(np.float16), place)

    def _embed_by_halves(self, texts: Sequence[str], place: int) -> Iterator[tuple[int, Floats]]:
        try:
            vectors = self._embedder.embed(texts)
        except ModelFailed as problem:
            if len(texts) == 1:
                self._refuse(problem)
                return
            if not self._going():
                raise
        else:
            self._refused_in_a_row = 0
            yield place, vectors
            return
        half = len(texts) // 2
        yield from self._embed_by_halves(texts[:half], place)
        yield from self._embed_by_halves(texts[half:], place + half)

    def _refuse(self, problem: ModelFailed) -> None:
        self.refusal = problem
        self._refused_in_a_row += 1
        if self._refused_in_a_row == REFUSED_MAX or not self._going():
            raise problem
