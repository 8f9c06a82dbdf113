"""A loopback fake of the Messages API that answers the real Claude CLI from a script.

Each request gets the next step whose condition fits: `answers[i]` is a list of blocks, each a text
or a tool call. Requests of sub-agents are answered with a fixed text.
"""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

Block = str | tuple[str, dict[str, Any]]  # a text, or a tool's name with its input
Step = list[Block] | int  # what is answered, or an HTTP status
ERRORS = {
    529: ("overloaded_error", "busy"),
    400: ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
}


class FakeMessagesApi:
    """The script, and what was asked."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self.asked: list[dict[str, Any]] = []
        self.calls = 0
        self.lock = threading.Lock()
        self.url = ""

    def next_step(self, body: dict[str, Any], sub_agent: bool) -> Step:
        """The answer to a request."""
        with self.lock:
            self.asked.append(body)
            if sub_agent:
                return ["The sub-agent found nothing."]
            return self.steps.pop(0) if self.steps else ["Nothing more to say."]

    def call_id(self) -> str:
        """The id of the next tool call."""
        with self.lock:
            self.calls += 1
            return f"toolu_{self.calls:04}"

    def heard(self) -> str:
        """All that was sent to the service, as text."""
        with self.lock:
            return json.dumps([body.get("messages") for body in self.asked])


class Server(ThreadingHTTPServer):
    """A server with its script."""

    daemon_threads = True

    def __init__(self, api: FakeMessagesApi) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    """Answers from the script of its server."""

    protocol_version = "HTTP/1.1"

    @property
    def api(self) -> FakeMessagesApi:
        """The script."""
        return cast("Server", self.server).api

    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""

    def do_HEAD(self) -> None:
        self._json({}, 200)

    def do_GET(self) -> None:
        self._json({}, 404)

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body: dict[str, Any] = json.loads(self.rfile.read(length) or b"{}")
        if not self.path.split("?")[0].endswith("/v1/messages"):
            self._json({"input_tokens": 1}, 200)
            return
        step = self.api.next_step(body, bool(self.headers.get("x-claude-code-agent-id")))
        if isinstance(step, int):
            kind, said = ERRORS.get(step, ("rate_limit_error", "busy"))
            self._json({"type": "error", "error": {"type": kind, "message": said}}, step)
            return
        self._stream(body, step)

    def _json(self, value: dict[str, Any], status: int) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, body: dict[str, Any], blocks: list[Block]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events(self.api, str(body.get("model", "fake")), blocks):
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")


@contextmanager
def fake_messages_api(*steps: Step) -> Generator[FakeMessagesApi]:
    """A service on the loopback."""
    api = FakeMessagesApi(list(steps))
    server = Server(api)
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def events(api: FakeMessagesApi, model: str, blocks: list[Block]) -> Generator[dict[str, Any]]:
    """The events of one answer."""
    usage = {"input_tokens": 1_000, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": f"msg_{api.call_id()}", "type": "message", "role": "assistant", "model": model,
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(blocks):
        if isinstance(block, str):
            start: dict[str, Any] = {"type": "text", "text": ""}
            delta: dict[str, Any] = {"type": "text_delta", "text": block}
        else:
            start = {"type": "tool_use", "id": api.call_id(), "name": block[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block[1])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = "tool_use" if any(not isinstance(one, str) for one in blocks) else "end_turn"
    ended = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 100}}
    yield {"type": "message_stop"}
