"""Embedders from a model hub, through fastembed: better ones, but the first use needs internet.

Needs the extra `hub`. The first use downloads the model into fastembed's cache; after that it runs
offline.
"""

import importlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.adapters.embedders.unit_vectors import normalise_vectors
from everloop.errors import ModelFailed


class HubEmbedder:
    """Embeds texts with a model of the hub."""

    def __init__(self, model: str, *, dimensions: int) -> None:
        self.name = model
        self.dimensions = dimensions
        self._model: Any = None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, in order.

        Raises:
            ModelFailed: fastembed is not installed, or the model cannot be loaded or failed.
        """
        model = self._load()
        try:
            rows = list(model.embed(list(texts)))
        except (OSError, RuntimeError, ValueError) as problem:
            raise ModelFailed(f"{self.name} failed: {problem}") from problem
        return normalise_vectors(
            rows, len(texts), self.dimensions, model=self.name, setting="memory.hub_dimensions"
        )

    def _load(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model = _open(self.name)
            return self._model


def _open(model: str) -> Any:
    try:
        fastembed = importlib.import_module("fastembed")
    except ImportError as problem:
        raise ModelFailed(
            "models from the hub need the package fastembed",
            hint="Install it: pip install 'everloop[hub]'",
        ) from problem
    try:
        return fastembed.TextEmbedding(model)
    except (OSError, RuntimeError, ValueError) as problem:
        raise ModelFailed(
            f"the model {model!r} cannot be loaded: {problem}",
            hint="The first use needs internet access, and a model that fastembed supports.",
        ) from problem
