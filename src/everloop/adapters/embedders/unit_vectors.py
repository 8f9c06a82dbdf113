"""Validates and normalises the vectors of an embedding model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.errors import ModelFailed


def normalise_vectors(
    rows: Sequence[Any], count: int, dimensions: int, *, model: str, setting: str
) -> NDArray[np.float32]:
    """Normalise `count` vectors to unit length; a zero vector stays zero.

    Raises:
        ModelFailed: their number or length is wrong; the message names the setting.
    """
    try:
        vectors = np.asarray(rows, np.float64)
    except (ValueError, TypeError) as problem:
        raise ModelFailed(
            f"{model} did not return vectors of equal length",
            hint="Is it an embedding model?",
        ) from problem
    if vectors.ndim != 2 or vectors.shape[1] != dimensions:
        raise ModelFailed(
            f"{model} returned vectors of the shape {vectors.shape}, but {setting} is {dimensions}",
            hint="Set the dimensions to the length of its vectors.",
        )
    if len(vectors) != count:
        raise ModelFailed(
            f"{model} returned {len(vectors)} vectors for {count} texts",
            hint="It must return one for each text. Is it an embedding model?",
        )
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all():
        raise ModelFailed(
            f"{model} returned a vector with infinite or undefined numbers",
            hint="The error is in the model: check the log of its server.",
        )
    unit: NDArray[np.float32] = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
    return unit
