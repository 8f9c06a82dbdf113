"""The context window of a model, as each kind of server tells it, and the limits that follow."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from everloop.adapters.models.context_window import ContextWindow
from everloop.adapters.models.fallback import FallbackModel
from everloop.adapters.models.provider import OVERFLOW, ModelService, ProviderModel
from everloop.thread.prompt.window_limits import limits_within
from everloop.thread.settings import ContextLimits

TOLD: list[tuple[str, Any]] = [
    ("/props", {"default_generation_settings": {"n_ctx": 8_192}}),
    ("/v1/models", {"data": [{"id": "other"}, {"id": "m", "max_model_len": 8_192}]}),
    ("/v1/models", {"data": [{"id": "m", "context_length": 8_192}]}),
    ("/api/v0/models", {"data": [{"id": "m", "loaded_context_length": 8_192}]}),
    ("/api/ps", {"models": [{"name": "m", "context_length": 8_192}]}),
]


@contextmanager
def server(path: str, answer: Any) -> Generator[tuple[str, list[str]]]:
    """A server that knows one page, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = json.dumps(answer).encode() if self.path == path else b"{}"
            self.send_response(200 if self.path == path else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{served.server_port}", asked
    finally:
        served.shutdown()
        thread.join()
        served.server_close()


@pytest.mark.parametrize(("path", "answer"), TOLD)
def test_a_window_is_read_wherever_a_service_tells_it(path: str, answer: Any) -> None:
    with server(path, answer) as (url, asked):
        window = ContextWindow(f"{url}/v1", "m")
        assert window.tokens() == 8_192
        count = len(asked)
        assert window.tokens() == 8_192
        assert len(asked) == count


@pytest.mark.parametrize("answer", [[], {"data": "x"}, {"data": [{"id": "m", "n_ctx": "many"}]}])
def test_a_server_that_tells_nothing_usable_leaves_the_window_unknown(answer: Any) -> None:
    with server("/v1/models", answer) as (url, _):
        model = FallbackModel([ProviderModel(ModelService("vllm", f"{url}/v1", free=True), "m")])
        assert model.context_window() == 0
    assert ContextWindow("", "m").tokens() == 0


def test_limits_follow_a_window_that_is_smaller_than_the_settings() -> None:
    limits = ContextLimits()
    assert limits_within(limits, 0, 8_192) == limits
    assert limits_within(limits, 200_000, 8_192) == limits
    small = limits_within(limits, 8_192, 8_192)
    assert small.hard == int(6_144 * 0.9)
    assert small.soft < small.hard
    past = small.past.day + small.past.week + small.past.month + small.past.year
    assert small.dialogue + small.recalled + small.lessons + small.notes + past <= small.hard


def test_the_hint_of_an_overflow_names_the_setting() -> None:
    assert "thread.context.hard" in OVERFLOW
