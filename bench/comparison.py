"""Two sides, measured in turns: a machine that is busy for a moment slows down both of them.

A round runs each side for a short slice, one right after the other, and gives one ratio. What
counts is the median of the rounds; the spread says between which bounds half of them lie. No
figure here is a time against the clock on the wall, except where the goal itself is one.
"""

import gc
from collections.abc import Callable, Sequence
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Literal

import msgspec

OWN_TIME = "processor time; no waiting for the disk or for other programs"  # what a claim notes

Rate = Callable[[float], float]  # runs for so many seconds and says how many per second it did


class Claim(msgspec.Struct, frozen=True):
    """What is measured, beside what, and what it should come to."""

    name: str
    title: str
    beside: str  # the other side; empty where the goal is a plain bound
    unit: str
    sense: Literal["at least", "at most"]
    goal: float
    note: str = ""


class Round(msgspec.Struct, frozen=True):
    """One slice of each side, in units per second."""

    ours: float
    other: float


class Outcome(msgspec.Struct, frozen=True):
    """What came of a claim."""

    claim: Claim
    ours: float
    other: float | None
    ratio: float
    spread: tuple[float, float]
    rounds: int

    @property
    def met(self) -> bool:
        """Whether the goal is reached."""
        return self.reach >= 1

    @property
    def reach(self) -> float:
        """How far the goal is reached: 1.0 is exactly, more is better."""
        share = max(self.ratio, 1e-9) / self.claim.goal
        return share if self.claim.sense == "at least" else 1 / share


def steady(act: Callable[[], int]) -> Rate:
    """The rate of an act that says how many units it did, repeated until the slice is over."""

    def run(seconds: float) -> float:
        done, spent, start = 0, 0.0, perf_counter()
        while spent < seconds:
            done += act()
            spent = perf_counter() - start
        return done / spent

    return run


def compare(
    ours: Rate, other: Rate, *, rounds: int, slice_s: float, warm_s: float = 0
) -> list[Round]:
    """Run both sides in turns. Who goes first alternates; a first round warms up and is dropped."""
    found: list[Round] = []
    for side in (ours, other) if warm_s else ():
        side(warm_s)
    gc.collect()
    gc.freeze()  # what was there before is not searched for garbage at some side's expense
    for number in range(rounds + 1):
        if number % 2:
            mine = ours(slice_s)
            found.append(Round(mine, other(slice_s)))
        else:
            theirs = other(slice_s)
            found.append(Round(ours(slice_s), theirs))
    gc.unfreeze()
    return found[1:]


def faster(claim: Claim, rounds: Sequence[Round]) -> Outcome:
    """How many times the other side's rate ours is."""
    return Outcome(
        claim,
        ours=median(one.ours for one in rounds),
        other=median(one.other for one in rounds),
        ratio=median(one.ours / one.other for one in rounds),
        spread=middle([one.ours / one.other for one in rounds]),
        rounds=len(rounds),
    )


def dearer(claim: Claim, rounds: Sequence[Round]) -> Outcome:
    """How many times the other side's cost ours is; both in milliseconds per unit."""
    return Outcome(
        claim,
        ours=median(1_000 / one.ours for one in rounds),
        other=median(1_000 / one.other for one in rounds),
        ratio=median(one.other / one.ours for one in rounds),
        spread=middle([one.other / one.ours for one in rounds]),
        rounds=len(rounds),
    )


def bounded(claim: Claim, found: Sequence[float]) -> Outcome:
    """What was found, against a plain bound."""
    typical = median(found)
    return Outcome(claim, typical, None, typical, middle(found), len(found))


def own_ms(act: Callable[[], object]) -> float:
    """How long the processor worked on something."""
    start = process_time()
    act()
    return 1_000 * (process_time() - start)


def require(holds: bool, what: str) -> None:
    """Refuse to report a figure for work that was not done."""
    if not holds:
        raise RuntimeError(f"the measure is wrong: {what}")


def middle(values: Sequence[float]) -> tuple[float, float]:
    """The middle half of some values: between which bounds half of them lie."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high
