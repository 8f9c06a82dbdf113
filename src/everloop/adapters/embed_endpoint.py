"""An embedder behind an OpenAI-compatible endpoint: Ollama, OpenAI, Voyage, llama.cpp, vLLM."""

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.errors import Invalid, ModelFailed

BATCH = 64


class EndpointEmbedder:
    """Texts to vectors by `POST {url}/embeddings`."""

    def __init__(
        self, url: str, model: str, *, key: str = "", dimensions: int, timeout_s: float = 60.0
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise Invalid(f"{url!r} is not an endpoint", hint="Give its http(s) address.")
        self._url = url.rstrip("/")
        self._model = model
        self._key = key
        self._timeout_s = timeout_s
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """The model, and where it runs: the same name elsewhere may be another model."""
        return f"{self._model}@{self._url}"

    @property
    def dimensions(self) -> int:
        """How long a vector is."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, in order."""
        rows = [
            row
            for start in range(0, len(texts), BATCH)
            for row in self._ask(list(texts[start : start + BATCH]))
        ]
        vectors = np.asarray(rows, np.float32)
        if vectors.shape != (len(texts), self._dimensions) or not np.isfinite(vectors).all():
            raise ModelFailed(
                f"{self._model} gave vectors of the shape {vectors.shape}",
                hint=f"Set the dimensions of the embedder; {self._dimensions} were expected.",
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: NDArray[np.float32] = vectors / np.maximum(norms, 1e-12)
        return unit

    def _ask(self, texts: list[str]) -> list[Any]:
        body = json.dumps({"model": self._model, "input": texts}).encode()
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked above
            f"{self._url}/embeddings", body, headers
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:  # noqa: S310
                data = json.load(answer)["data"]
            return [entry["embedding"] for entry in sorted(data, key=lambda e: e["index"])]
        except urllib.error.HTTPError as problem:
            raise ModelFailed(
                f"the embedding endpoint answered {problem.code}",
                hint="Check the model's name and the key.",
            ) from problem
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise ModelFailed(
                f"the embedding endpoint failed: {problem}", hint="Is it running?"
            ) from problem
