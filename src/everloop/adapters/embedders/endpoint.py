"""Embedder for OpenAI-compatible endpoints: Ollama, OpenAI, Voyage, llama.cpp, vLLM."""

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.adapters.embedders.unit_vectors import normalise_vectors
from everloop.errors import Invalid, ModelFailed

BATCH = 64
TIMEOUT_S = 60.0
PART_BYTES = 65_536  # of a response, read at once
LATER = (408, 429, 500, 502, 503, 504)  # transient HTTP errors


class EndpointEmbedder:
    """Embeds texts with `POST {url}/embeddings`."""

    def __init__(
        self, url: str, model: str, *, key: str = "", dimensions: int, timeout_s: float = TIMEOUT_S
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise Invalid(
                f"{url!r} is not a URL of an endpoint", hint="Use an http:// or https:// address."
            )
        self._url = url.rstrip("/")
        self._model = model
        self._key = key
        self._timeout_s = timeout_s
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """Model, URL and dimensions: together they identify vectors that are comparable."""
        return f"{self._model}@{self._url} {self._dimensions}"

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, in order."""
        rows = [
            row
            for start in range(0, len(texts), BATCH)
            for row in self._request(list(texts[start : start + BATCH]))
        ]
        return normalise_vectors(
            rows,
            len(texts),
            self._dimensions,
            model=self._model,
            setting="memory.endpoint_dimensions",
        )

    def _read_response(self, answer: Any) -> bytes:
        """The whole response. The timeout also limits one that arrives slowly."""
        until = monotonic() + self._timeout_s
        parts: list[bytes] = []
        while part := answer.read1(PART_BYTES):
            parts.append(part)
            if monotonic() > until:
                raise TimeoutError("the response takes too long")
        return b"".join(parts)

    def _request(self, texts: list[str]) -> list[Any]:
        body = json.dumps({"model": self._model, "input": texts}).encode()
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked above
            f"{self._url}/embeddings", body, headers
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:  # noqa: S310
                data = json.loads(self._read_response(answer))["data"]
            return [entry["embedding"] for entry in sorted(data, key=lambda e: e["index"])]
        except urllib.error.HTTPError as problem:
            problem.close()
            raise ModelFailed(
                f"the embedding endpoint answered with HTTP status {problem.code}",
                hint="It is retried later."
                if problem.code in LATER
                else "Check the model's name and the key.",
            ) from problem
        except (KeyError, TypeError, RecursionError) as problem:
            raise ModelFailed(
                "the embedding endpoint did not return embeddings",
                hint="Check its address and the model's name.",
            ) from problem
        except (OSError, HTTPException, ValueError) as problem:
            raise ModelFailed(
                f"the embedding endpoint failed: {problem}", hint="Is it running?"
            ) from problem
