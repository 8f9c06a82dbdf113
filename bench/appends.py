"""Durable appends: one caller, sixty-four callers, and with views."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

from bench.bare import inserts
from bench.comparison import Claim, Outcome, Rate, compare, faster, steady
from bench.material import ACTOR, STREAM, VIEWS, messages
from bench.run_folder import RunFolder
from everloop.log import Event, Log

CALLERS = 64
BARE = "bare apsw loop"


def single(run: RunFolder) -> Outcome:
    """One event, one commit, beside the bare loop."""
    claim = Claim("append", "durable append, one event", BARE, "appends/s", "at least", goal=0.8)
    return faster(claim, compare(appends(run.open()), inserts(run), **run.writing_pace()))


def concurrent(run: RunFolder) -> Outcome:
    """Many callers in threads, beside one caller."""
    title = f"{CALLERS} callers in threads"
    claim = Claim("concurrent", title, "one caller", "appends/s", "at least", goal=5)
    with ThreadPoolExecutor(CALLERS) as threads:
        crowd = _crowd(run.open(), threads)
        return faster(claim, compare(crowd, appends(run.open()), **run.writing_pace()))


def views(run: RunFolder) -> Outcome:
    """One event, one commit, three views folded in, beside the bare loop that has none."""
    title = "append with three views, one FTS5"
    claim = Claim("views", title, BARE, "appends/s", "at least", goal=0.5)
    log = run.open(views=VIEWS)
    return faster(claim, compare(appends(log), inserts(run), **run.writing_pace()))


def appends(log: Log, *, batch: int = 1) -> Rate:
    """The rate of one caller who waits for each append of so many events."""
    said = messages()

    def act() -> int:
        log.append(STREAM, [next(said) for _ in range(batch)], actor=ACTOR)
        return batch

    return steady(act)


def _crowd(log: Log, threads: ThreadPoolExecutor) -> Rate:
    """The rate of many callers together, each with a stream of its own."""
    streams = [f"thread:{one}" for one in range(CALLERS)]
    said = [messages() for _ in streams]

    def run(seconds: float) -> float:
        start = perf_counter()

        def caller(stream: str, said: Iterator[Event]) -> int:
            done = 0
            while perf_counter() < start + seconds:
                log.append(stream, [next(said)], actor=ACTOR)
                done += 1
            return done

        done = sum(threads.map(caller, streams, said))
        return done / (perf_counter() - start)

    return run
