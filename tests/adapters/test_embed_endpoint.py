"""An embedder behind an endpoint, spoken to over real HTTP on the loopback."""

import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import numpy as np
import pytest

from everloop.adapters.embed_endpoint import EndpointEmbedder
from everloop.adapters.embedders import chosen_embedder
from everloop.errors import Invalid, ModelFailed
from everloop.memory.limits import MemorySettings


class Endpoint(BaseHTTPRequestHandler):
    """Answers each text with its length, out of order, as some servers do."""

    status: ClassVar[int] = 200
    asked: ClassVar[list[dict[str, Any]]] = []
    keys: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        """Answer an embeddings request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        self.keys.append(self.headers.get("Authorization", ""))
        data = [
            {"index": index, "embedding": [float(len(text)), 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]}
            for index, text in enumerate(body["input"])
        ]
        answer = json.dumps({"data": list(reversed(data))}).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Generator[str]:
    """The address of a running endpoint."""
    Endpoint.status, Endpoint.asked, Endpoint.keys = 200, [], []
    server = HTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_texts_become_unit_vectors_in_their_order(url: str) -> None:
    embedder = EndpointEmbedder(url, "model", key="secret", dimensions=8)
    vectors = embedder.embed(["a", "four", ""])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert vectors[1, 0] / vectors[1, 1] == pytest.approx(4)
    assert vectors[2, 0] == 0
    assert Endpoint.keys == ["Bearer secret"]


def test_many_texts_are_asked_for_in_batches(url: str) -> None:
    EndpointEmbedder(url, "model", dimensions=8).embed(["x"] * 150)
    assert [len(body["input"]) for body in Endpoint.asked] == [64, 64, 22]


def test_vectors_of_another_length_are_refused_with_a_hint(url: str) -> None:
    with pytest.raises(ModelFailed, match="shape") as refusal:
        EndpointEmbedder(url, "model", dimensions=16).embed(["x"])
    assert "dimensions" in refusal.value.hint


def test_an_error_or_a_silent_server_is_a_failed_model_and_not_a_crash(url: str) -> None:
    Endpoint.status = 500
    with pytest.raises(ModelFailed, match="500"):
        EndpointEmbedder(url, "model", dimensions=8).embed(["x"])
    with pytest.raises(ModelFailed, match="failed"):
        EndpointEmbedder("http://127.0.0.1:9/v1", "model", dimensions=8).embed(["x"])


def test_an_address_must_be_http() -> None:
    with pytest.raises(Invalid, match="not an endpoint"):
        EndpointEmbedder("file:///etc/passwd", "model", dimensions=8)


def test_a_hub_model_without_its_package_is_a_failed_model_that_names_the_command() -> None:
    chosen = chosen_embedder(MemorySettings(embedder="hub"))
    assert chosen is not None
    with pytest.raises(ModelFailed, match="fastembed") as refusal:
        chosen.embed(["x"])
    assert "everloop[hub]" in refusal.value.hint


def test_the_settings_choose_the_embedder(url: str) -> None:
    settings = MemorySettings(embedder="endpoint", endpoint=url, endpoint_dimensions=8)
    chosen = chosen_embedder(settings)
    assert chosen is not None
    assert chosen.name == f"nomic-embed-text@{url}"
    assert chosen_embedder(MemorySettings(embedder="none")) is None
