"""Structured logs: one line of JSON for every operation, with the id of its request.

What a line may hold is closed: names of ours, numbers, classes of errors. Of what libraries log,
only the template and the place in the code are kept: their arguments can hold anything.
"""

import json
import logging
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO

from everloop.tracing import Span

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
OPERATIONS = logging.getLogger("everloop.operations")


class JsonFormatter(logging.Formatter):
    """Writes a log record as one line of JSON, without the arguments of its message."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}"
            f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
        }
        operation = getattr(record, "operation", None)
        if isinstance(operation, dict):
            fields |= operation
        else:
            where = f"{Path(record.pathname).name}:{record.lineno}"
            fields |= {"event": "log", "logger": record.name, "where": where}
            if isinstance(record.msg, str) and record.args:
                fields["template"] = record.msg
            if record.exc_info and record.exc_info[0]:
                fields["error"] = record.exc_info[0].__name__
        if request_id := REQUEST_ID.get():
            fields["request_id"] = request_id
        return json.dumps(fields, ensure_ascii=True)


class JsonLogs:
    """Logs every span to a stream, and takes over what libraries log. Close it at the end."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._handler = logging.StreamHandler(stream or sys.stderr)
        self._handler.setFormatter(JsonFormatter())
        self._root = logging.getLogger()
        self._before = (self._root.handlers, self._root.level, OPERATIONS.level)
        self._root.handlers = [self._handler]
        self._root.setLevel(logging.WARNING)
        OPERATIONS.setLevel(logging.INFO)

    @contextmanager
    def watch(self, span: Span) -> Generator[None]:
        """Log a span when it ends."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.note(span, time.perf_counter() - began)

    def note(self, span: Span, duration_s: float) -> None:
        """Log a span that ended."""
        fields = {"event": span.name, "duration_ms": round(duration_s * 1_000, 3)}
        level = logging.WARNING if "error" in span.attributes else logging.INFO
        OPERATIONS.log(level, span.name, extra={"operation": {**fields, **span.attributes}})

    def close(self) -> None:
        """Log as before."""
        self._root.handlers, level, operations = self._before
        self._root.setLevel(level)
        OPERATIONS.setLevel(operations)
