"""A deterministic embedder for tests: texts that share words have similar vectors."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from everloop.memory.text.analysis import analyse


class WordEmbedder:
    """Bag-of-words embeddings: each word has a fixed direction, a text is the sum of its words."""

    name = "words"
    dimensions = 64

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in analyse(text).words:
                digest = hashlib.sha256(word.encode()).digest()
                row[digest[0] % self.dimensions] += 1.0
                row[digest[1] % self.dimensions] += 1.0
            row[0] += 0.01
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit
