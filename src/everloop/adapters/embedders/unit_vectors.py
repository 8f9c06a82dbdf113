"""What a model gave, as unit vectors; or what is wrong with it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.errors import ModelFailed


def unit_vectors(
    rows: Sequence[Any], count: int, dimensions: int, *, model: str, setting: str
) -> NDArray[np.float32]:
    """So many vectors of so many numbers. One of zeros stays so: nothing was made of its text.

    Raises:
        ModelFailed: they are something else. It names the setting that says how long they are.
    """
    try:
        vectors = np.asarray(rows, np.float64)
    except (ValueError, TypeError) as problem:
        raise ModelFailed(
            f"{model} gave something else than vectors of one length",
            hint="Is it an embedding model?",
        ) from problem
    if vectors.ndim != 2 or vectors.shape[1] != dimensions:
        raise ModelFailed(
            f"{model} gave vectors of the shape {vectors.shape}, and {setting} is {dimensions}",
            hint="Set the dimensions to how long its vectors are.",
        )
    if len(vectors) != count:
        raise ModelFailed(
            f"{model} gave {len(vectors)} vectors for {count} texts",
            hint="It must give one for each.",
        )
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all():
        raise ModelFailed(
            f"{model} gave a vector that is not all numbers",
            hint="The model is at fault; look at what it says of it.",
        )
    unit: NDArray[np.float32] = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
    return unit
