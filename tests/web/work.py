"""What a page costs by itself: the CPU time of its main thread, as the browser's trace tells it.

A time on the wall says as much about the machine as about the page: whoever shares the machine
makes it longer. The CPU time of a task stays what it is while others wait for the processor too.
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
TASKS = ("RunTask", "RunMicrotasks")  # what promises do runs within tasks, and also between them

Happening = dict[str, Any]


class Work:
    """Tasks of a page's main thread, in milliseconds of CPU. It is known when the tracing ends."""

    def __init__(self) -> None:
        self._all: list[Happening] = []

    def hear(self, trace: bytes) -> None:
        """Take what the browser told, as far as main threads of pages are concerned."""
        told: list[Happening] = json.loads(trace)["traceEvents"]
        main = {_thread(one) for one in told if _is_main(one)}
        ours = [one for one in told if _thread(one) in main]
        self._all = sorted(ours, key=lambda one: (_begun(one), -one.get("dur", 0)))

    @property
    def tasks(self) -> list[float]:
        """How much each task took; while one runs, the page hears nothing."""
        return sorted(_ms(one) for one in self._tasks)

    @property
    def frame(self) -> float:
        """How much each frame that was drawn took, on average."""
        return sum(self.tasks) / len(self._named("Commit"))

    @property
    def keys(self) -> list[float]:
        """How much was done for each key: from hearing it to giving the frame with it away."""
        heard = [_begun(one) for one in self._named("EventDispatch") if _type(one) == "keydown"]
        drawn = [_ended(one) for one in self._named("Commit")]
        ends = [(one, drawn[at]) for one in heard if (at := bisect_left(drawn, one)) < len(drawn)]
        return sorted(self.between(*span) for span in ends)

    def between(self, begin: float, end: float) -> float:
        """How much was done in the tasks that ran in a stretch of the trace."""
        ran = [one for one in self._tasks if _ended(one) >= begin and _begun(one) <= end]
        return sum(_ms(one) for one in ran)

    def until(self, mark: str) -> float:
        """How much a page had done when it said that it had come so far."""
        said = next(one for one in self._all if one["name"] == mark)
        tasks = [one for one in self._tasks if _thread(one) == _thread(said)]
        return sum(_ms(one) for one in tasks if _begun(one) <= _begun(said))

    @cached_property
    def _tasks(self) -> list[Happening]:
        """What ran, each with all that ran within it."""
        until, outermost = defaultdict[tuple[int, int], float](float), list[Happening]()
        for one in self._all:
            if one["name"] in TASKS and one["ph"] == "X" and _ended(one) > until[_thread(one)]:
                until[_thread(one)] = _ended(one)
                outermost.append(one)
        return outermost

    def _named(self, name: str) -> list[Happening]:
        return [one for one in self._all if one["name"] == name and one["ph"] == "X"]


@contextmanager
def working(page: Page) -> Generator[Work]:
    """Look at what the pages of a browser do meanwhile. One at a time: a browser has one trace."""
    browser = page.context.browser
    assert browser is not None
    work = Work()
    browser.start_tracing(categories=CATEGORIES)
    try:
        yield work
    finally:
        work.hear(browser.stop_tracing())


def most(of: Iterable[float], share: float = 0.95) -> float:
    """What all but the largest few stay below."""
    ordered = sorted(of)
    return ordered[int(len(ordered) * share)]


def _is_main(one: Happening) -> bool:
    return bool(one["name"] == "thread_name" and one["args"]["name"] == MAIN)


def _thread(one: Happening) -> tuple[int, int]:
    return one["pid"], one["tid"]


def _begun(one: Happening) -> float:
    return float(one["ts"])


def _ended(one: Happening) -> float:
    return float(one["ts"] + one["dur"])


def _ms(one: Happening) -> float:
    told = one["tdur"] if "tdur" in one else one["dur"]  # of very short ones, only by the clock
    return float(told) / 1_000


def _type(one: Happening) -> str:
    return str(one["args"]["data"]["type"])
