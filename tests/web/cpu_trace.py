"""CPU time of a page's main thread, measured with the browser's trace.

Wall-clock time depends on the load of the machine; the CPU time of a task does not.
"""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from playwright.sync_api import Page

CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline", "blink.user_timing"]
MAIN = "CrRendererMain"
TASKS = ("RunTask", "RunMicrotasks")  # promises run within tasks, and also between them

TraceEvent = dict[str, Any]


class CpuTrace:
    """Tasks of a page's main thread, in milliseconds of CPU; available when tracing ends."""

    def __init__(self) -> None:
        self._all: list[TraceEvent] = []

    def load(self, trace: bytes) -> None:
        """Load the events of the main threads of pages from a trace."""
        events: list[TraceEvent] = json.loads(trace)["traceEvents"]
        main = {_thread(one) for one in events if _is_main(one)}
        ours = [one for one in events if _thread(one) in main]
        self._all = sorted(ours, key=lambda one: (_begun(one), -one.get("dur", 0)))

    @property
    def tasks(self) -> list[float]:
        """The CPU time of each task; while one runs, the page is unresponsive."""
        return sorted(_ms(one) for one in self._tasks)

    @property
    def frame(self) -> float:
        """The average CPU time per frame."""
        return sum(self.tasks) / len(self._named("Commit"))

    @property
    def keys(self) -> list[float]:
        """The CPU time for each key press, from the event to the committed frame."""
        pressed = [_begun(one) for one in self._named("EventDispatch") if _type(one) == "keydown"]
        drawn = [_ended(one) for one in self._named("Commit")]
        ends = [(one, drawn[at]) for one in pressed if (at := bisect_left(drawn, one)) < len(drawn)]
        return sorted(self.between(*span) for span in ends)

    def between(self, begin: float, end: float) -> float:
        """The CPU time of the tasks that ran in a span of the trace."""
        ran = [one for one in self._tasks if _ended(one) >= begin and _begun(one) <= end]
        return sum(_ms(one) for one in ran)

    def until(self, mark: str) -> float:
        """The CPU time of a page until it set a performance mark."""
        marked = next(one for one in self._all if one["name"] == mark)
        tasks = [one for one in self._tasks if _thread(one) == _thread(marked)]
        return sum(_ms(one) for one in tasks if _begun(one) <= _begun(marked))

    @cached_property
    def _tasks(self) -> list[TraceEvent]:
        """The outermost tasks."""
        until, outermost = defaultdict[tuple[int, int], float](float), list[TraceEvent]()
        for one in self._all:
            if one["name"] in TASKS and one["ph"] == "X" and _ended(one) > until[_thread(one)]:
                until[_thread(one)] = _ended(one)
                outermost.append(one)
        return outermost

    def _named(self, name: str) -> list[TraceEvent]:
        return [one for one in self._all if one["name"] == name and one["ph"] == "X"]


@contextmanager
def trace_cpu(page: Page) -> Generator[CpuTrace]:
    """Trace the pages of a browser. Only one trace at a time is possible."""
    browser = page.context.browser
    assert browser is not None
    trace = CpuTrace()
    browser.start_tracing(categories=CATEGORIES)
    try:
        yield trace
    finally:
        trace.load(browser.stop_tracing())


def percentile(values: Iterable[float], share: float = 0.95) -> float:
    """The value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[int(len(ordered) * share)]


def _is_main(one: TraceEvent) -> bool:
    return bool(one["name"] == "thread_name" and one["args"]["name"] == MAIN)


def _thread(one: TraceEvent) -> tuple[int, int]:
    return one["pid"], one["tid"]


def _begun(one: TraceEvent) -> float:
    return float(one["ts"])


def _ended(one: TraceEvent) -> float:
    return float(one["ts"] + one["dur"])


def _ms(one: TraceEvent) -> float:
    duration = one["tdur"] if "tdur" in one else one["dur"]  # very short tasks have no CPU time
    return float(duration) / 1_000


def _type(one: TraceEvent) -> str:
    return str(one["args"]["data"]["type"])
