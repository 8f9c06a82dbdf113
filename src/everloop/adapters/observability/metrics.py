"""Metrics of a running server in Prometheus form, by the OpenTelemetry SDK; extra `observe`.

Only counts, durations and names of our own leave here: methods, route templates, kinds of facts,
names of tasks, purposes and models. No text, id or address of a user is a label.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry, generate_latest

from everloop.background.health import TaskHealth
from everloop.log import Log, Record, fact_of
from everloop.tracing import Span
from everloop.usage.events import ModelCalled

Health = Callable[[], Sequence[TaskHealth]]
Finish = Callable[[str, str, int], None]
LABELS = frozenset({"error", "kind", "method", "model", "outcome", "purpose", "route", "status"})
MEASURED_ELSEWHERE = frozenset({"http.request", "model.call"})  # have a histogram of their own here


class OperationDurations:
    """A histogram of how long operations took, by name and by what is in `LABELS`."""

    def __init__(self, meter: Meter) -> None:
        self._histogram = meter.create_histogram(
            "everloop.operation.duration", "s", "How long operations took, by name."
        )

    def record(self, span: Span, duration_s: float) -> None:
        """Add an operation that ended."""
        labels = {name: str(value) for name, value in span.attributes.items() if name in LABELS}
        self._histogram.record(duration_s, {"operation": span.name, **labels})


class Metrics:
    """The instruments of one process. Facts are counted from the moment it began."""

    def __init__(self, log: Log, health: Health) -> None:
        self._log = log
        self._counted = log.head
        self._lock = threading.Lock()
        self._registry = CollectorRegistry()
        reader: Any = PrometheusMetricReader(
            disable_target_info=True, scope_info_enabled=False, registry=self._registry
        )
        meter = MeterProvider(metric_readers=[reader], shutdown_on_exit=False).get_meter("everloop")
        self._requests = meter.create_histogram(
            "everloop.http.request.duration", "s", "How long requests took, by route and status."
        )
        self._facts = meter.create_counter(
            "everloop.facts", description="Facts recorded since this process began, by kind."
        )
        self._model_calls = meter.create_histogram(
            "everloop.model.call.duration", "s", "How long calls of models took."
        )
        self._tokens = meter.create_counter(
            "everloop.model.tokens", description="Tokens of model calls, by direction."
        )
        self._cost = meter.create_counter(
            "everloop.model.cost", description="Known cost of model calls in US dollars."
        )
        self._operations = OperationDurations(meter)
        observe_log(meter, log, health)

    @contextmanager
    def watch(self, span: Span) -> Generator[None]:
        """Measure a span when it ends."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.note(span, time.perf_counter() - began)

    def note(self, span: Span, duration_s: float) -> None:
        """Measure an operation that ended just now."""
        if span.name not in MEASURED_ELSEWHERE:
            self._operations.record(span, duration_s)

    def begin_request(self) -> Finish:
        """Start measuring a request; call what is returned with method, route and status."""
        began = time.perf_counter()

        def finish(method: str, route: str, status: int) -> None:
            labels = {"method": method, "route": route, "status": str(status)}
            self._requests.record(time.perf_counter() - began, labels)

        return finish

    def exposition(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        with self._lock:
            self._count_new_facts()
            return generate_latest(self._registry)

    def _count_new_facts(self) -> None:
        head = self._log.head
        with self._log.file.reading() as reader:
            for record in reader.records(self._counted, head):
                self._count(record)
        self._counted = head

    def _count(self, record: Record) -> None:
        self._facts.add(1, {"kind": record.kind})
        if record.kind != ModelCalled.wire or record.data is None:
            return
        call = fact_of(record).event
        if isinstance(call, ModelCalled):
            labels = {"model": call.model, "purpose": call.purpose}
            self._model_calls.record(call.duration_s, labels)
            self._tokens.add(call.tokens_in, {**labels, "direction": "in"})
            self._tokens.add(call.tokens_out, {**labels, "direction": "out"})
            self._cost.add(max(call.cost_usd, 0), labels)


def observe_log(meter: Meter, log: Log, health: Health) -> None:
    """Add the gauges of a log: its newest position, and the state of each background task."""

    def observe_head(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(log.head)

    def observe_tasks(_: CallbackOptions) -> Iterable[Observation]:
        for task in health():
            yield Observation(1, {"task": task.name, "state": task.state})

    meter.create_observable_gauge(
        "everloop.log.head", [observe_head], description="Newest position of the log."
    )
    meter.create_observable_gauge(
        "everloop.background.task",
        [observe_tasks],
        description="Background tasks: 1 for the state that each is in.",
    )
