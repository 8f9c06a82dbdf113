"""Traces and metrics by OTLP over HTTP, with the OpenTelemetry SDK; extra `observe`.

Spans and their durations go to the collector that the settings name. What they may hold,
`everloop.tracing` says.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span as OtelSpan
from opentelemetry.trace import Status, StatusCode

from everloop import __version__
from everloop.adapters.observability.metrics import Health, OperationDurations, observe_log
from everloop.log import Log
from everloop.tracing import Span

NANO = 1_000_000_000


class Telemetry:
    """Sends spans and metrics to a collector until it is closed."""

    def __init__(
        self, log: Log, health: Health, endpoint: str, *, key: str = "", every_s: float = 15.0
    ) -> None:
        base = endpoint.rstrip("/")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        every_ms = every_s * 1_000
        about = Resource.create({"service.name": "everloop", "service.version": __version__})
        self._traces = TracerProvider(resource=about, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=f"{base}/v1/traces", headers=headers)
        self._traces.add_span_processor(
            BatchSpanProcessor(exporter, schedule_delay_millis=every_ms)
        )
        sender = OTLPMetricExporter(endpoint=f"{base}/v1/metrics", headers=headers)
        reader = PeriodicExportingMetricReader(sender, export_interval_millis=every_ms)
        self._metrics = MeterProvider([reader], resource=about, shutdown_on_exit=False)
        self._tracer = self._traces.get_tracer("everloop", __version__)
        meter = self._metrics.get_meter("everloop", __version__)
        self._durations = OperationDurations(meter)
        observe_log(meter, log, health)

    @contextmanager
    def watch(self, span: Span) -> Generator[None]:
        """Record a span; spans that begin inside it are its children."""
        began = time.perf_counter()
        with self._tracer.start_as_current_span(span.name, record_exception=False) as recorded:
            try:
                yield
            finally:
                self._finish(recorded, span, time.perf_counter() - began)

    def note(self, span: Span, duration_s: float) -> None:
        """Record an operation that ended just now."""
        began = time.time_ns() - int(duration_s * NANO)
        recorded = self._tracer.start_span(span.name, start_time=began)
        self._finish(recorded, span, duration_s)
        recorded.end()

    def close(self) -> None:
        """Send what is left, and stop."""
        self._traces.shutdown()
        self._metrics.shutdown()

    def _finish(self, recorded: OtelSpan, span: Span, duration_s: float) -> None:
        recorded.set_attributes(span.attributes)
        if "error" in span.attributes:
            recorded.set_status(Status(StatusCode.ERROR))
        self._durations.record(span, duration_s)
