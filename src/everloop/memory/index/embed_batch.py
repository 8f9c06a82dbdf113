"""Making vectors of many texts, though a model may refuse some of them.

A text that is too long for a model, or that it makes no numbers of, must not keep the others from
their vectors. Those it is asked for together with are asked for again without it: by halves.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from everloop.errors import ModelFailed
from everloop.memory.index.quantisation import Floats
from everloop.ports import Embedder

REFUSED_MAX = 3  # texts refused in a row: then it is the model that fails, and not they


class Making:
    """Vectors as an embedder makes them, as long as `going`. Notes the last refusal."""

    def __init__(self, embedder: Embedder, going: Callable[[], bool]) -> None:
        self._embedder = embedder
        self._going = going
        self._in_a_row = 0
        self.refusal: ModelFailed | None = None

    def made(self, texts: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float16]]]:
        """The vectors of these texts, in half precision, each with its text's place.

        None for what is refused.

        Raises:
            ModelFailed: the model failed, or refused too many.
        """
        for place, vectors in self._halved(texts, 0):
            yield from enumerate(vectors.astype(np.float16), place)

    def _halved(self, texts: Sequence[str], place: int) -> Iterator[tuple[int, Floats]]:
        try:
            vectors = self._embedder.embed(texts)
        except ModelFailed as problem:
            if len(texts) == 1:
                self._refuse(problem)
                return
            if not self._going():
                raise
        else:
            self._in_a_row = 0
            yield place, vectors
            return
        half = len(texts) // 2
        yield from self._halved(texts[:half], place)
        yield from self._halved(texts[half:], place + half)

    def _refuse(self, problem: ModelFailed) -> None:
        self.refusal = problem
        self._in_a_row += 1
        if self._in_a_row == REFUSED_MAX or not self._going():
            raise problem
