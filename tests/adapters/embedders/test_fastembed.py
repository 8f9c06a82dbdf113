"""An embedder from a model hub, with another model in the place of the hub's."""

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from everloop.adapters.embedders.fastembed import HubEmbedder
from everloop.errors import ModelFailed


class Gives:
    """A model of the hub that gives the same, whatever it is asked for."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def embed(self, texts: list[str]) -> list[Any]:
        """What it was made with."""
        del texts
        return self._rows


def embedder(monkeypatch: pytest.MonkeyPatch, *rows: Any) -> HubEmbedder:
    """An embedder whose model gives these."""

    def opened(model: str) -> Gives:
        del model
        return Gives(list(rows))

    hub = ModuleType("fastembed")
    monkeypatch.setattr(hub, "TextEmbedding", opened, raising=False)
    monkeypatch.setitem(sys.modules, "fastembed", hub)
    return HubEmbedder("model", dimensions=8)


def test_texts_become_unit_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = embedder(monkeypatch, [3.0] * 8, [0.0] * 8).embed(["a", "b"])
    assert np.allclose(vectors, [[8**-0.5] * 8, [0.0] * 8])
    assert vectors.dtype == np.float32


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([[1.0] * 8, [1.0] * 7], "vectors of equal length"),
        ([[1.0] * 16, [1.0] * 16], "hub_dimensions is 8"),
        ([[1.0] * 8], "1 vectors for 2 texts"),
        ([[1.0] * 8] * 4, "4 vectors for 2 texts"),
        ([], "shape"),
        ([[1.0] * 8, [float("nan")] * 8], "infinite or undefined"),
        ([[1.0] * 8, [float("inf")] * 8], "infinite or undefined"),
    ],
)
def test_a_wrong_number_or_shape_of_vectors_raises_model_failed(
    monkeypatch: pytest.MonkeyPatch, rows: list[Any], told: str
) -> None:
    with pytest.raises(ModelFailed, match=told):
        embedder(monkeypatch, *rows).embed(["a", "b"])
