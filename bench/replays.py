"""Replay: a long stream into a typed fold, one fact at a time."""

import psutil

from bench.bare import decodes
from bench.comparison import Claim, Outcome, Rate, bounded, compare, faster, require, steady
from bench.material import FOLD, STREAM, Tally, evolve
from bench.run_folder import RunFolder
from everloop.log import Fact, Fold, Log

SAMPLE_EVERY = 10_000
MEGABYTE = 1_000_000


def fold(run: RunFolder) -> Outcome:
    """A stream into a pure fold, beside selecting and decoding the same JSON."""
    title = f"replay of {run.scale.replayed:,} events into a fold"
    claim = Claim("replay", title, "bare SELECT and decode", "events/s", "at least", goal=0.5)
    path = run.filled(run.scale.replayed)
    pace = run.pace(share=0.25)
    return faster(claim, compare(replays(run.open(path)), decodes(path), **pace))


def memory(run: RunFolder) -> Outcome:
    """How much the process grows while it replays the long log: a page of it, never the whole."""
    events = run.scale.long
    title = f"memory taken while replaying {events:,} events"
    log = run.open(run.filled(events))
    log.state(FOLD, "thread:none")  # a reader is open before the count begins
    process = psutil.Process()
    before = process.memory_info().rss
    grown = [0.0]

    def watched(tally: Tally | None, fact: Fact) -> Tally:
        if fact.version % SAMPLE_EVERY == 0:
            grown.append((process.memory_info().rss - before) / MEGABYTE)
        return evolve(tally, fact)

    tally = log.state(Fold("bench.watched", Tally, watched), STREAM)
    require(tally is not None and tally.messages == events, "not every event was folded")
    return bounded(Claim("memory", title, "", "MB", "at most", goal=64), [max(grown)])


def replays(log: Log) -> Rate:
    """The rate of folding a whole stream anew, with nothing kept from the last time."""
    afresh = Fold("bench.afresh", Tally, evolve)  # of this fold there is no snapshot

    def act() -> int:
        log.transactions.states.clear()
        tally = log.state(afresh, STREAM)
        return tally.messages if tally else 0

    return steady(act)
