"""Structured logs and OpenTelemetry: what is in them, and what never is."""

import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.interfaces.http.serving import Served, plain_settings, send_and_wait, served

from everloop.errors import ModelFailed
from everloop.settings import ObserveSettings

CANARY = "Zanzibar"
OPERATIONS = {"http.request", "turn", "model.call", "log.append", "memory.recall", "job"}
LINE = f'{{"role": "user", "text": "{CANARY} again.", "at": "2026-02-01T10:00:00Z"}}\n'


class Collector:
    """An OTLP collector on loopback that keeps what it is sent."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.traces: list[bytes] = []
        self.metrics: list[bytes] = []
        self.keys: set[str] = set()

    def spans(self) -> list[Any]:
        """All spans that came."""
        sent = (ExportTraceServiceRequest.FromString(body) for body in self.traces)
        return [
            span
            for one in sent
            for resource in one.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def metric_names(self) -> set[str]:
        """The names of all metrics that came."""
        sent = (ExportMetricsServiceRequest.FromString(body) for body in self.metrics)
        return {
            metric.name
            for one in sent
            for resource in one.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@contextmanager
def _collector() -> Generator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            known.keys.add(self.headers.get("authorization", ""))
            (known.traces if self.path == "/v1/traces" else known.metrics).append(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known = Collector(server.server_port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield known
    finally:
        server.shutdown()
        server.server_close()


def _use_everything(server: Served) -> list[str]:
    """Use a server with canaries in all that a person can write; returns request ids."""
    with server.client() as client:
        send_and_wait(client, f"Where is {CANARY}?")
        send_and_wait(client, f"And {CANARY}, again?")
        client.post("/api/memories", json={"text": f"{CANARY} is warm.", "title": CANARY})
        client.get("/api/recall", params={"query": CANARY})
        client.get(f"/api/memories/{CANARY}")
        client.get(f"/{CANARY}", headers={"x-request-id": CANARY, "user-agent": CANARY})
        client.post("/api/imports", params={"name": f"{CANARY}.jsonl"}, content=LINE.encode())
        client.request(CANARY.upper(), "/api/threads")  # refused before it is a request
        answer = client.get("/api/session", headers={"x-request-id": CANARY})
        return [answer.headers["x-request-id"], client.get("/api/threads").headers["x-request-id"]]


def _observed(folder: Path, **observe: Any) -> Any:
    settings = msgspec.structs.replace(plain_settings(folder), observe=ObserveSettings(**observe))
    away = ModelFailed(f"{CANARY} cannot be reached", hint=f"Try {CANARY}.")
    return served(folder, [f"{CANARY} is an island.", away], settings=settings)


@pytest.mark.promise("P-REACH-7")
def test_logs_have_request_ids_and_nothing_that_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with _observed(tmp_path, logs="json") as server:
        first, second = _use_everything(server)
    written = capsys.readouterr().err
    lines = [json.loads(line) for line in written.splitlines()]
    assert {one["event"] for one in lines} >= OPERATIONS
    assert CANARY.lower() not in written.lower()
    requests = [one for one in lines if one["event"] == "http.request"]
    assert all(set(one) >= {"time", "level", "request_id", "route", "status"} for one in requests)
    assert first != second
    assert {first, second} <= {one["request_id"] for one in requests}
    failed = [one for one in lines if one["event"] == "turn" and "error" in one]
    assert [(one["level"], one["error"]) for one in failed] == [("warning", "ModelFailed")]
    appends = [one for one in lines if one["event"] == "log.append"]
    assert {one.get("request_id") for one in appends} & {one["request_id"] for one in requests}


@pytest.mark.promise("P-REACH-7")
def test_traces_and_metrics_reach_a_collector_without_anything_that_was_written(
    tmp_path: Path,
) -> None:
    with _collector() as collector:
        key = "of-the-collector"
        with _observed(tmp_path, otlp_endpoint=collector.url, otlp_key=key) as server:
            _use_everything(server)
        spans = collector.spans()
    assert {one.name for one in spans} >= OPERATIONS
    assert "everloop.operation.duration" in collector.metric_names()
    assert "everloop.log.head" in collector.metric_names()
    assert collector.keys == {f"Bearer {key}"}
    sent = b"".join([*collector.traces, *collector.metrics]).lower()
    assert CANARY.lower().encode() not in sent
    turns = {one.span_id for one in spans if one.name == "turn"}
    assert any(one.parent_span_id in turns for one in spans if one.name == "model.call")


def test_what_a_library_logs_is_reduced_to_its_template_and_the_class_of_the_error() -> None:
    code = f"""
import logging
from everloop.adapters import JsonLogs
JsonLogs()
try:
    raise ValueError("{CANARY}")
except ValueError:
    logging.getLogger("uvicorn.error").exception("Failed for %s", "{CANARY}")
    logging.getLogger("x").warning("{CANARY}")
"""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    first, second = (json.loads(line) for line in done.stderr.splitlines())
    assert (first["template"], first["error"]) == ("Failed for %s", "ValueError")
    assert "template" not in second
    assert CANARY not in done.stderr


def test_by_default_nothing_is_logged_and_nothing_of_telemetry_is_imported(
    server: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    with server.client() as client:
        assert "x-request-id" not in client.get("/api/threads").headers
    assert capsys.readouterr().err == ""
    code = (
        "import sys, everloop.services, everloop.__main__;"
        "telemetry = lambda: {n for n in sys.modules if n.startswith('opentelemetry')};"
        "before = telemetry();"
        "import everloop.interfaces.http.app;"  # FastAPI looks for the API by itself
        "sdk = {n for n in telemetry() if n.split('.')[1:2] in (['sdk'], ['exporter'])};"
        "print(before, sdk)"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set() set()"
