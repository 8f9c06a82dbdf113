"""Model services on the loopback: the Messages API and chat completions, over real HTTP and SSE.

A test says what the next calls get; everything that was asked is kept. Failures are real ones:
statuses, silence, a connection that ends in the middle, data that is no JSON.
"""

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-0123456789abcdef"


@dataclass(frozen=True)
class Reply:
    """What one call gets."""

    pieces: tuple[str, ...] = ("Hello ", "there.")
    calls: tuple[tuple[str, str, str], ...] = ()  # id, name, arguments as they are sent
    status: int = 200
    error: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    finish: str = ""
    then: str = "end"  # end, stall, cut, garbage, or fade: end without a finish
    counted: bool = True
    thoughts: tuple[str, ...] = ()  # sent as reasoning before the answer
    cached: int = 0  # tokens of the prompt that the service had in its cache


@dataclass
class Asked:
    """What one call asked for."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class FakeService:
    """A service under test control."""

    url: str = ""
    replies: list[Reply] = field(default_factory=list[Reply])
    asked: list[Asked] = field(default_factory=list[Asked])
    models: tuple[str, ...] = ("nomic-embed-text", "llama3.2")
    over: threading.Event = field(default_factory=threading.Event)
    stalled: threading.Event = field(default_factory=threading.Event)
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def talk(self) -> list[Asked]:
        """The calls for an answer, without those for JSON that the tasks after a turn make."""
        return [one for one in self.asked if "response_format" not in one.body]

    def next_reply(self) -> Reply:
        """What this call gets: the next reply, and the last one for ever after."""
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def fake_service(*replies: Reply) -> Generator[FakeService]:
    """A running service that gives these replies, the last one again and again."""
    service = FakeService(replies=list(replies or (Reply(),)))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(service))
    server.daemon_threads = False
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(service: FakeService) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        """Answers for this service."""

        _service = service

    return Handler


class _Handler(BaseHTTPRequestHandler):
    _service: FakeService
    protocol_version = "HTTP/1.0"  # a connection per call: nothing is left open when a test ends

    def do_GET(self) -> None:
        """The list of models."""
        found = {"data": [{"id": name} for name in self._service.models]}
        self._whole(200, found)

    def do_HEAD(self) -> None:
        """Something is there."""
        self._whole(200, {})

    def do_POST(self) -> None:
        """One call."""
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._service.asked.append(Asked(self.path, headers, body))
        reply = self._service.next_reply()
        if reply.status != 200:
            error = {"type": "some_error", "message": reply.error or f"no: your key was {KEY}"}
            self._whole(reply.status, {"type": "error", "error": error}, reply.headers)
            return
        try:
            self._stream(reply, body)
        except OSError:
            self._service.gone.set()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _stream(self, reply: Reply, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        if reply.then == "cut":
            self.send_header("Content-Length", "1000000")  # so that the end comes too early
        self.end_headers()
        native = self.path.split("?")[0].endswith("/messages")
        for event in _messages_api(reply, body) if native else _chat_completions(reply, body):
            self.wfile.write(event)
            self.wfile.flush()
        if reply.then == "stall":
            self._stall()
        if reply.then == "garbage":
            self.wfile.write(b"event: content_block_delta\ndata: {not json\n\n")

    def _stall(self) -> None:
        """Say nothing until the test is over or the caller has gone."""
        self._service.stalled.set()
        while not self._service.over.wait(0.02):
            self.wfile.write(b": nothing yet\n\n")
            self.wfile.flush()

    def _whole(self, status: int, answer: Any, headers: tuple[tuple[str, str], ...] = ()) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in (*headers, ("Content-Type", "application/json")):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _chat_completions(reply: Reply, body: dict[str, Any]) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None, usage: Any = None) -> bytes:
        choices = [] if usage else [{"index": 0, "delta": delta, "finish_reason": finish}]
        data = {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": body["model"],
            "choices": choices,
            "usage": usage,
        }
        return f"data: {json.dumps(data)}\n\n".encode()

    yield chunk({"role": "assistant", "content": ""})
    for thought in reply.thoughts:
        yield chunk({"reasoning_content": thought})
    for piece in reply.pieces:
        yield chunk({"content": piece})
    for index, (call_id, name, arguments) in enumerate(reply.calls):
        about = {"name": name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": call_id, "function": about}]})
        for half in (arguments[:5], arguments[5:]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": half}}]})
    if reply.then != "end":
        return
    yield chunk({}, reply.finish or ("tool_calls" if reply.calls else "stop"))
    if reply.counted:
        usage: dict[str, Any] = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        if reply.cached:
            usage["prompt_tokens_details"] = {"cached_tokens": reply.cached}
        yield chunk({}, usage=usage)
    yield b"data: [DONE]\n\n"


def _messages_api(reply: Reply, body: dict[str, Any]) -> Iterator[bytes]:
    def event(kind: str, **values: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n".encode()

    fresh = 11 - reply.cached  # this service counts those of its cache by themselves
    usage = {"input_tokens": fresh, "output_tokens": 1, "cache_read_input_tokens": reply.cached}
    message: dict[str, Any] = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield event("message_start", message=message)
    first = int(bool(reply.thoughts))
    if reply.thoughts:
        thinking = {"type": "thinking", "thinking": "", "signature": ""}
        yield event("content_block_start", index=0, content_block=thinking)
        for thought in reply.thoughts:
            delta = {"type": "thinking_delta", "thinking": thought}
            yield event("content_block_delta", index=0, delta=delta)
        yield event("content_block_stop", index=0)
    yield event("content_block_start", index=first, content_block={"type": "text", "text": ""})
    for piece in reply.pieces:
        yield event("content_block_delta", index=first, delta={"type": "text_delta", "text": piece})
    if reply.then != "end":
        return
    yield event("content_block_stop", index=first)
    for index, (call_id, name, arguments) in enumerate(reply.calls, first + 1):
        block: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        for half in (arguments[:5], arguments[5:]):
            delta = {"type": "input_json_delta", "partial_json": half}
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    stop = reply.finish or ("tool_use" if reply.calls else "end_turn")
    ended = {"stop_reason": stop, "stop_sequence": None}
    yield event("message_delta", delta=ended, usage={"output_tokens": 7})
    yield event("message_stop")
