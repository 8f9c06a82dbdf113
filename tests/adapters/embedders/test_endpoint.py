"""An embedder behind an endpoint, spoken to over real HTTP on the loopback."""

import json
import threading
from collections.abc import Generator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from everloop.adapters.embedders.choose import chosen_embedder
from everloop.adapters.embedders.endpoint import EndpointEmbedder
from everloop.app import Engine
from everloop.errors import Invalid, ModelFailed
from everloop.log import Context
from everloop.memory.model.commands import RememberItem
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings

HELD_MAX_S = 20


class Endpoint(BaseHTTPRequestHandler):
    """Answers each text with its length, out of order, as some servers do."""

    status: ClassVar[int] = 200
    asked: ClassVar[list[dict[str, Any]]] = []
    keys: ClassVar[list[str]] = []
    first: ClassVar[Any] = None  # instead of the first vector
    left_out: ClassVar[int] = 0  # how many vectors are
    cut: ClassVar[int | None] = None  # after how many bytes the answer breaks off
    raw: ClassVar[bytes] = b""  # instead of all of it
    held: ClassVar[threading.Event | None] = None  # what it waits for before it answers
    drops_s: ClassVar[float] = 0  # between a space and the next one, instead of an answer

    def do_POST(self) -> None:
        """Answer an embeddings request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        if self.held is not None:
            self.held.wait(HELD_MAX_S)
        self.keys.append(self.headers.get("Authorization", ""))
        data = [
            {"index": index, "embedding": [float(len(text)), 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]}
            for index, text in enumerate(body["input"])
        ]
        if self.first is not None:
            data[0]["embedding"] = self.first
        answer = self.raw or json.dumps({"data": list(reversed(data))[self.left_out :]}).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.drops_s:
            self._drip()
            return
        self.wfile.write(answer[: self.cut])

    def _drip(self) -> None:
        """Keep the one who asks in hope, for long."""
        with suppress(OSError):
            for _ in range(round(HELD_MAX_S / self.drops_s)):
                self.wfile.write(b" ")
                threading.Event().wait(self.drops_s)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Generator[str]:
    """The address of a running endpoint."""
    Endpoint.status, Endpoint.asked, Endpoint.keys = 200, [], []
    Endpoint.first, Endpoint.left_out, Endpoint.cut, Endpoint.held = None, 0, None, None
    Endpoint.raw, Endpoint.drops_s = b"", 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
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


def test_many_texts_are_embedded_in_batches(url: str) -> None:
    EndpointEmbedder(url, "model", dimensions=8).embed(["x"] * 150)
    assert [len(body["input"]) for body in Endpoint.asked] == [64, 64, 22]


def test_vectors_of_another_length_are_refused_with_a_hint(url: str) -> None:
    with pytest.raises(ModelFailed, match="shape") as refusal:
        EndpointEmbedder(url, "model", dimensions=16).embed(["x"])
    assert "dimensions" in refusal.value.hint


def test_an_error_or_a_missing_server_raises_model_failed(url: str) -> None:
    Endpoint.status = 500
    with pytest.raises(ModelFailed, match="500"):
        EndpointEmbedder(url, "model", dimensions=8).embed(["x"])
    with pytest.raises(ModelFailed, match="failed"):
        EndpointEmbedder("http://127.0.0.1:9/v1", "model", dimensions=8).embed(["x"])


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ([1.0] * 7, "vectors of equal length"),
        ("AAAA", "vectors of equal length"),
        ([1.0] * 7 + [float("nan")], "infinite or undefined"),
        ([1.0] * 7 + [1e999], "infinite or undefined"),
        ([1e300] * 8, "infinite or undefined"),
        ({"values": []}, "vectors of equal length"),
    ],
)
def test_an_invalid_vector_raises_model_failed_with_the_problem(
    url: str, first: Any, told: str
) -> None:
    Endpoint.first = first
    with pytest.raises(ModelFailed, match=told):
        EndpointEmbedder(url, "model", dimensions=8).embed(["x", "y"])


def test_deeply_nested_json_raises_model_failed(url: str) -> None:
    Endpoint.raw = b'{"data":' + b"[" * 100_000
    with pytest.raises(ModelFailed, match="did not return embeddings"):
        EndpointEmbedder(url, "model", dimensions=8).embed(["x"])


def test_a_vector_of_any_magnitude_becomes_a_unit_vector(url: str) -> None:
    Endpoint.first = [1e60] * 8
    assert np.allclose(EndpointEmbedder(url, "model", dimensions=8).embed(["x"]), 8**-0.5)


def test_too_few_vectors_are_refused(url: str) -> None:
    Endpoint.left_out = 1
    with pytest.raises(ModelFailed, match="2 vectors for 3 texts"):
        EndpointEmbedder(url, "model", dimensions=8).embed(["x", "y", "z"])


def test_a_truncated_response_raises_model_failed(url: str) -> None:
    Endpoint.cut = 30
    with pytest.raises(ModelFailed, match="failed"):
        EndpointEmbedder(url, "model", dimensions=8).embed(["x"])


def test_a_slow_response_times_out(url: str) -> None:
    Endpoint.raw, Endpoint.drops_s = b" " * 10_000, 0.05
    with pytest.raises(ModelFailed, match="too long"):
        EndpointEmbedder(url, "model", dimensions=8, timeout_s=0.2).embed(["x"])


def test_the_hint_for_a_busy_endpoint_does_not_blame_the_key(url: str) -> None:
    Endpoint.status = 429
    with pytest.raises(ModelFailed, match="429") as refusal:
        EndpointEmbedder(url, "model", dimensions=8).embed(["x"])
    assert "key" not in refusal.value.hint


def test_dimensions_are_part_of_the_model_name() -> None:
    short, long = (EndpointEmbedder("http://x/v1", "model", dimensions=n) for n in (8, 16))
    assert short.name != long.name


def test_an_address_must_be_http() -> None:
    with pytest.raises(Invalid, match="not a URL"):
        EndpointEmbedder("file:///etc/passwd", "model", dimensions=8)


def test_a_missing_hub_package_raises_model_failed_with_the_install_command() -> None:
    chosen = chosen_embedder(MemorySettings(embedder="hub"))
    assert chosen is not None
    with pytest.raises(ModelFailed, match="fastembed") as refusal:
        chosen.embed(["x"])
    assert "everloop[hub]" in refusal.value.hint


def test_the_settings_choose_the_embedder(url: str) -> None:
    settings = MemorySettings(embedder="endpoint", endpoint=url, endpoint_dimensions=8)
    chosen = chosen_embedder(settings)
    assert chosen is not None
    assert chosen.name == f"nomic-embed-text@{url} 8"
    assert chosen_embedder(MemorySettings(embedder="none")) is None


def test_a_query_waits_for_a_slow_endpoint_up_to_the_set_timeout(tmp_path: Path, url: str) -> None:
    settings = Settings(
        memory=MemorySettings(
            embedder="endpoint", endpoint=url, endpoint_dimensions=8, endpoint_wait_s=0.1
        )
    )
    Endpoint.held = threading.Event()
    with Engine.open(tmp_path, settings=settings) as engine:
        engine.memory.remember(RememberItem("a", "The spare key hangs in the shed"), by=Context())
        assert engine.memory.embed_briefly() == 0
        answer = engine.memory.recall("user", SearchQuery("spare key"))
        Endpoint.held.set()
        assert [hit.item.item_id for hit in answer.hits] == ["a"]
        assert "only words were searched" in answer.notes[0]
        assert engine.memory.embed_missing() == 1
