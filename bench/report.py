"""The figures: a table for people, JSON for machines, a plot for both."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

import apsw
import matplotlib as mpl
import msgspec
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from bench.comparison import Claim, Outcome
from everloop.adapters.system import SystemClock

NAME = "log"
GREEN, RED, GREY = "#2a9d58", "#c8453b", "#8a8f98"


def show(outcomes: Sequence[Outcome], flushes: Sequence[float], console: Console) -> None:
    """Print the table."""
    table = Table(title="The log's speed: ratios within one run, medians of alternating rounds")
    spans = " and ".join(f"{flush:.2f}" for flush in flushes)
    table.caption = f"A bare flush to this disk took {spans} ms before and after the run."
    table.add_column("measure")
    for heading in ("ours", "other side", "ratio", "middle half", "goal", ""):
        table.add_column(heading, justify="right", no_wrap=heading != "other side")
    for outcome in outcomes:
        table.add_row(*_cells(outcome))
    console.print(table)


def write(
    outcomes: Sequence[Outcome], flushes: Sequence[float], folder: Path, scale: str
) -> list[Path]:
    """Write the JSON and the plot; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "made_at": SystemClock().now(),
        "scale": scale,
        "machine": {
            "python": platform.python_version(),
            "sqlite": apsw.sqlite_lib_version(),
            "system": platform.system(),
            "processor": platform.machine(),
            "processors": os.cpu_count(),
        },
        "flush_ms": flushes,
        "outcomes": [
            {
                **msgspec.structs.asdict(outcome.claim),
                "ours": outcome.ours,
                "other": outcome.other,
                "ratio": outcome.ratio,
                "middle_half": outcome.spread,
                "rounds": outcome.rounds,
                "met": outcome.met,
            }
            for outcome in outcomes
        ],
    }
    figures = folder / f"{NAME}.json"
    figures.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    return [figures, *_plot(outcomes, folder)]


def _cells(outcome: Outcome) -> tuple[str, ...]:
    claim = outcome.claim
    beside = f"{_number(outcome.other)} {claim.beside}" if outcome.other is not None else ""
    low, high = outcome.spread
    return (
        claim.title,
        f"{_number(outcome.ours)} {claim.unit}",
        beside,
        _ratio(outcome, outcome.ratio),
        f"{_number(low)} to {_number(high)}",
        _goal(claim),
        "[green]met[/]" if outcome.met else "[bold red]missed[/]",
    )


def _goal(claim: Claim) -> str:
    sign = "≥" if claim.sense == "at least" else "≤"
    return f"{sign} {claim.goal:g}" + ("" if claim.beside else f" {claim.unit}")


def _ratio(outcome: Outcome, value: float) -> str:
    return (
        f"{_number(value)} \N{MULTIPLICATION SIGN}" if outcome.other is not None else _number(value)
    )


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _plot(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """How far each goal is reached; the line is the goal."""
    mpl.rcParams["svg.hashsalt"] = NAME
    figure = Figure(figsize=(9, 0.9 + 0.42 * len(outcomes)), layout="constrained")
    axes = figure.add_subplot()
    for row, outcome in enumerate(outcomes):
        reach = outcome.reach
        axes.barh(row, reach, color=GREEN if outcome.met else RED, height=0.62)
        label = f" {_ratio(outcome, outcome.ratio)}  (goal {_goal(outcome.claim)})"
        axes.text(max(reach, 1), row, label, va="center", fontsize=8, color="#333333")
    axes.axvline(1, color=GREY, linewidth=1)
    axes.set_yticks(range(len(outcomes)), [_label(outcome.claim) for outcome in outcomes])
    axes.tick_params(labelsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(0.3, 30 * max(1, *(outcome.reach for outcome in outcomes)) ** 0.8)
    axes.set_xlabel("how far the goal is reached (1 = exactly; more is better)", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    paths = [folder / f"{NAME}.png", folder / f"{NAME}.svg"]
    for path in paths:
        figure.savefig(path, dpi=150)
    return paths


def _label(claim: Claim) -> str:
    return f"{claim.title}\nbeside {claim.beside}" if claim.beside else claim.title
