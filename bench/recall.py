"""How well recall finds: `python -m bench.recall FILE`, on a file of the LoCoMo or the BEAM shape.

Each conversation becomes a memory of its own, in an engine in a temporary home: one item per turn,
each following the turn before it in its session. Every question with evidence is asked as the user
would ask it, on the day of the last session. What counts is the share of the evidence among the
first 5 and 10: of turns, and of the sessions they are in, by their best turn. For BEAM, whose turns
are messages, it is also how often any of the evidence is there. Where nothing reaches the floor,
what came closest counts: this measures the order, `bench.daily` measures the floor.

The last line is one JSON object. The data belongs to others: it is read by path and never copied.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bench.recall_data import Conversation, Question, Shape, conversations
from everloop.app import Engine
from everloop.errors import Unavailable
from everloop.log import BackupPlan
from everloop.memory.retrieval.results import SearchMode, SearchQuery
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings

CUTS = (5, 10)
TURNS_ASKED = 100  # usually they lie in ten sessions or more
TURNS_ALL = 10_000
HEADINGS = (
    *(f"{level} @{cut}" for level in ("session", "turn") for cut in CUTS),
    "any @5",
    "any @10",
)
GOALS: Mapping[tuple[Shape, str], Sequence[float | None]] = {
    ("locomo", "hybrid"): (0.912, 0.961, 0.731, 0.825, None, None),
    ("locomo", "text"): (0.88, 0.945, 0.62, 0.71, None, None),
    ("beam", "hybrid"): (None, None, None, 0.52, 0.60, 0.72),
}

Shares = tuple[float, ...]  # in the order of HEADINGS


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and end with one line of JSON."""
    asked = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 100)
    found: dict[str, list[Shares]] = {}
    talks = conversations(asked.data)
    with _progress() as progress:
        for talk in talks:
            found[talk.name] = measured(talk, asked.mode, progress)
    shape = talks[0].shape
    console.print(_table(found, shape, asked.mode))
    print(msgspec.json.encode(_summary(found, shape)).decode())
    return 0


def measured(talk: Conversation, mode: SearchMode, progress: Progress) -> list[Shares]:
    """The shares of each question, asked in a memory of this conversation alone."""
    settings = Settings(
        backups=BackupPlan(every_events=0, every_minutes=0),
        memory=MemorySettings(embedder="none" if mode == "text" else "granite"),
    )
    with tempfile.TemporaryDirectory() as home, Engine.open(home, settings=settings) as engine:
        for command in talk.commands():
            engine.do(command)
        if mode == "hybrid":
            if engine.memory.memory.vector_index is None:
                raise Unavailable(
                    "the default embedder is not installed", hint="pip install 'everloop[embed]'"
                )
            bar = progress.add_task(f"{talk.name}: embedding", total=len(talk.turns))
            engine.memory.embed_missing(lambda done, _: progress.update(bar, completed=done))
        bar = progress.add_task(f"{talk.name}: asking", total=len(talk.questions))
        shares: list[Shares] = []
        for question in talk.questions:
            shares.append(_shares(engine, talk, question, mode))
            progress.advance(bar)
        return shares


def _shares(engine: Engine, talk: Conversation, question: Question, mode: SearchMode) -> Shares:
    sessions = {turn.name: turn.session for turn in talk.turns}
    turns: list[str] = []
    for limit in (TURNS_ASKED, TURNS_ALL):
        answer = engine.memory.recall(
            "user", SearchQuery(question.text, limit=limit, mode=mode), now=talk.ends_at
        )
        turns = [hit.item.item_id for hit in answer.hits or answer.closest]
        if len({sessions[turn] for turn in turns}) >= max(CUTS) or len(turns) < limit:
            break
    reached = list(dict.fromkeys(sessions[turn] for turn in turns))
    wanted = {sessions[turn] for turn in question.evidence}
    return (
        *(len(wanted & set(reached[:cut])) / len(wanted) for cut in CUTS),
        *(len(question.evidence & set(turns[:cut])) / len(question.evidence) for cut in CUTS),
        *(float(not question.evidence.isdisjoint(turns[:cut])) for cut in CUTS),
    )


def _means(shares: Sequence[Shares]) -> Shares:
    return tuple(fmean(column) for column in zip(*shares, strict=True))


def _summary(found: Mapping[str, Sequence[Shares]], shape: Shape) -> dict[str, object]:
    everything = [shares for each in found.values() for shares in each]
    means = [round(share, 4) for share in _means(everything)]
    named = dict(zip(HEADINGS, means, strict=True))
    levels = {
        level: {f"share@{cut}": named[f"{level} @{cut}"] for cut in CUTS}
        for level in ("session", "turn")
    }
    summary: dict[str, object] = {**levels, "questions": len(everything)}
    if shape == "beam":
        any_of = {f"any@{cut}": named[f"any @{cut}"] for cut in CUTS}
        summary["message"] = {**any_of, "share@10": named["turn @10"]}
    return summary


def _table(found: Mapping[str, Sequence[Shares]], shape: Shape, mode: str) -> Table:
    table = Table(title=f"Share of evidence found, {mode}")
    table.add_column("conversation")
    for heading in ("questions", *HEADINGS):
        table.add_column(heading, justify="right")
    for name, shares in found.items():
        table.add_row(name, str(len(shares)), *(f"{share:.4f}" for share in _means(shares)))
    everything = [shares for each in found.values() for shares in each]
    means = _means(everything)
    table.add_section()
    table.add_row("all", str(len(everything)), *(f"{share:.4f}" for share in means), style="bold")
    if goals := GOALS.get((shape, mode)):
        told = [_met(share, goal) for share, goal in zip(means, goals, strict=True)]
        table.add_row("goal", "", *("" if goal is None else f"{goal:.3f}" for goal in goals))
        table.add_row("", "", *told, style="dim")
    return table


def _met(share: float, goal: float | None) -> str:
    if goal is None:
        return ""
    return "met" if round(share, 3) >= goal else "missed"


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("data", type=Path, help="a file of the LoCoMo or BEAM shape")
    parser.add_argument("--mode", choices=("hybrid", "text"), default="hybrid")
    return parser


if __name__ == "__main__":
    sys.exit(main())
