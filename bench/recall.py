"""How well recall finds: `python -m bench.recall FILE`, on any file of the LoCoMo shape.

Each conversation becomes a memory of its own, in an engine in a temporary home: one item per turn,
each following the turn before it in its session. Every question with evidence is asked as the user
would ask it, on the day of the last session. What counts is the share of the evidence among the
first 5 and 10: of turns, and of the sessions they are in, by their best turn.

The last line is one JSON object. The data belongs to others: it is read by path and never copied.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from everloop.app import Engine
from everloop.errors import Unavailable
from everloop.log import BackupPlan
from everloop.memory.model.commands import RememberItem
from everloop.memory.retrieval.results import SearchMode, SearchQuery
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings

CUTS = (5, 10)
TURNS_ASKED = 100  # usually they lie in ten sessions or more
TURNS_ALL = 10_000
GOALS = {  # session and turn, @5 and @10, of issue 3
    "hybrid": (0.90, 0.955, 0.68, 0.78),
    "text": (0.88, 0.945, 0.62, 0.71),
}
HEADINGS = tuple(f"{level} @{cut}" for level in ("session", "turn") for cut in CUTS)

Shares = tuple[float, ...]  # in the order of HEADINGS


class Turn(msgspec.Struct, frozen=True):
    """One thing that somebody said."""

    name: str
    session: int
    said: str
    at: datetime


class Question(msgspec.Struct, frozen=True):
    """What is asked, and the turns that hold the answer."""

    text: str
    evidence: frozenset[str]


class Conversation(msgspec.Struct, frozen=True):
    """Turns in order, and what is asked about them."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and end with one line of JSON."""
    asked = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 100)
    found: dict[str, list[Shares]] = {}
    with _progress() as progress:
        for talk in conversations(asked.data):
            found[talk.name] = measured(talk, asked.mode, progress)
    console.print(_table(found, asked.mode))
    print(msgspec.json.encode(_summary(found)).decode())
    return 0


def conversations(path: Path) -> list[Conversation]:
    """The conversations of a file. Evidence that names no turn is ignored."""
    return [_conversation(sample) for sample in msgspec.json.decode(path.read_bytes())]


def measured(talk: Conversation, mode: SearchMode, progress: Progress) -> list[Shares]:
    """The shares of each question, asked in a memory of this conversation alone."""
    settings = Settings(
        backups=BackupPlan(every_events=0, every_minutes=0),
        memory=MemorySettings(embedder="none" if mode == "text" else "granite"),
    )
    with tempfile.TemporaryDirectory() as home, Engine.open(home, settings=settings) as engine:
        for command in _commands(talk):
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


def _commands(talk: Conversation) -> Iterable[RememberItem]:
    before: Turn | None = None
    for turn in talk.turns:
        yield RememberItem(
            item_id=turn.name,
            text=turn.said,
            kind="message",
            learned_via="imported",
            happened_at=turn.at.isoformat(),
            follows=before.name if before and before.session == turn.session else "",
        )
        before = turn


def _shares(engine: Engine, talk: Conversation, question: Question, mode: SearchMode) -> Shares:
    sessions = {turn.name: turn.session for turn in talk.turns}
    now = max(turn.at for turn in talk.turns)
    turns: list[str] = []
    for limit in (TURNS_ASKED, TURNS_ALL):
        answer = engine.memory.recall(
            "user", SearchQuery(question.text, limit=limit, mode=mode), now=now
        )
        turns = [hit.item.item_id for hit in answer.hits]
        if len({sessions[turn] for turn in turns}) >= max(CUTS) or len(turns) < limit:
            break
    reached = list(dict.fromkeys(sessions[turn] for turn in turns))
    wanted = {sessions[turn] for turn in question.evidence}
    return (
        *(len(wanted & set(reached[:cut])) / len(wanted) for cut in CUTS),
        *(len(question.evidence & set(turns[:cut])) / len(question.evidence) for cut in CUTS),
    )


def _conversation(sample: Mapping[str, Any]) -> Conversation:
    talk = sample["conversation"]
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
    turns = tuple(turn for number in numbers for turn in _turns(talk, number))
    names = {turn.name for turn in turns}
    asked = [
        Question(entry["question"], frozenset(_evidence(entry.get("evidence") or ())) & names)
        for entry in sample["qa"]
    ]
    return Conversation(sample["sample_id"], turns, tuple(each for each in asked if each.evidence))


def _turns(talk: Mapping[str, Any], number: int) -> Iterable[Turn]:
    written = talk.get(f"session_{number}_date_time", "")
    try:
        at = datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        at = datetime.fromtimestamp(0, UTC)
    for turn in talk[f"session_{number}"]:
        caption = turn.get("blip_caption")  # what the shared picture shows
        text = f"{turn['text']} [{caption}]" if caption else turn["text"]
        yield Turn(turn["dia_id"], number, f"{turn['speaker']}: {text}", at)


def _evidence(entries: Iterable[str]) -> Iterable[str]:
    """Some entries hold several ids."""
    return (name for entry in entries for name in re.split(r"[;,\s]+", entry))


def _means(shares: Sequence[Shares]) -> Shares:
    return tuple(fmean(column) for column in zip(*shares, strict=True))


def _summary(found: Mapping[str, Sequence[Shares]]) -> dict[str, object]:
    everything = [shares for each in found.values() for shares in each]
    means = [round(share, 4) for share in _means(everything)]
    named = dict(zip(HEADINGS, means, strict=True))
    levels = {
        level: {f"share@{cut}": named[f"{level} @{cut}"] for cut in CUTS}
        for level in ("session", "turn")
    }
    return {**levels, "questions": len(everything)}


def _table(found: Mapping[str, Sequence[Shares]], mode: str) -> Table:
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
    goals = GOALS[mode]
    table.add_row("goal", "", *(f"{goal:.3f}" for goal in goals), style="dim")
    told = ("met" if share >= goal else "missed" for share, goal in zip(means, goals, strict=True))
    table.add_row("", "", *told)
    return table


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("data", type=Path, help="a file of the LoCoMo shape")
    parser.add_argument("--mode", choices=("hybrid", "text"), default="hybrid")
    return parser


if __name__ == "__main__":
    sys.exit(main())
