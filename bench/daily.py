"""How well recall serves everyday talk: `python -m bench.daily`, on dialogues of our own making.

Each file in `dialogues/` becomes a home of its own: facts that were kept or told in passing, small
talk, questions to an assistant, and some of the questions below asked twice before, answered by the
built-in model. Then every question is asked. What counts is how often the fact comes first and
among the first three, the mean reciprocal rank of the fact, and of the questions that nothing there
answers, the share that gets nothing. The dialogues in `held_out/` were written after the rules of
ranking and were not used to choose them: they say how well the rules do on talk they do not know.

Lines begin with `u` (the user said), `a` (the assistant said), `+ FACT |` (the user told),
`* FACT |` (kept with `remember`), `? FACT |` (a question that the fact answers), `!` (one that
nothing answers), and `??` or `!!` if it was asked before. The last line printed is one JSON object.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean

import msgspec
from rich.console import Console
from rich.table import Table

from everloop.adapters.models.offline import NOTHING
from everloop.app import Engine
from everloop.errors import Invalid
from everloop.log import BackupPlan
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.events import BUILT_IN_MODEL, Origin
from everloop.memory.retrieval.results import SearchMode, SearchQuery
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings

FOLDER = Path(__file__).parent / "dialogues"
HELD_OUT = FOLDER / "held_out"
LIMIT = 5  # hits asked for, as many as a door asks for by default
GOALS = {"hit@1": 0.90, "hit@3": 0.98, "nothing": 0.90}

_LINE = re.compile(r"(?P<sort>[ua+*@]|\?{1,2}|!{1,2}) (?:(?P<fact>[\w-]+) \| )?(?P<text>.+)")


class Line(msgspec.Struct, frozen=True):
    """A line of a dialogue: what sort it is, the fact it states or asks for, and its words."""

    sort: str
    fact: str
    text: str


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of one question: the rank of the fact, 0 if it was not found; hits in all."""

    question: Line
    rank: int
    hits: tuple[str, ...]

    @property
    def answerable(self) -> bool:
        """Whether a fact answers the question."""
        return bool(self.question.fact)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and end with one line of JSON."""
    asked = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 100)
    figures: list[Mapping[str, float]] = []
    for folder, title in ((FOLDER, "Everyday dialogues"), (HELD_OUT, "Held out")):
        found = {path.stem: outcomes(path, asked.mode) for path in sorted(folder.glob("*.txt"))}
        everything = [one for some in found.values() for one in some]
        console.print(_table(found, f"{title}, {asked.mode}"))
        if asked.misses:
            for each in everything:
                _print_miss(console, each)
        figures.append(_figures(everything))
    known, held_out = figures
    print(msgspec.json.encode({**known, "held_out": held_out}).decode())
    return 0


def dialogue(path: Path) -> list[Line]:
    """The lines of a dialogue; a line that begins with # is a remark."""
    lines: list[Line] = []
    for text in path.read_text("utf-8").splitlines():
        if text.strip() and not text.startswith("#"):
            match = _LINE.fullmatch(text)
            if match is None:
                raise Invalid(f"{path.name}: {text!r} is no line of a dialogue")
            lines.append(Line(match["sort"], match["fact"] or "", match["text"]))
    return lines


def outcomes(path: Path, mode: SearchMode, home: str | None = None) -> list[Outcome]:
    """The outcome of each question of a dialogue, asked an hour after its last line."""
    settings = Settings(
        backups=BackupPlan(every_events=0, every_minutes=0),
        memory=MemorySettings(embedder="none" if mode == "text" else "granite"),
    )
    lines = dialogue(path)
    with (
        tempfile.TemporaryDirectory() as temporary,
        Engine.open(home or temporary, settings=settings) as engine,
    ):
        if not engine.log.head:
            engine.do_many(list(_commands(lines)))
        engine.memory.embed_missing()
        now = max(_times(lines)) + timedelta(days=1, hours=1)
        return [_outcome(engine, line, mode, now) for line in lines if line.sort[0] in "?!"]


def _outcome(engine: Engine, line: Line, mode: SearchMode, now: datetime) -> Outcome:
    answer = engine.memory.recall("user", SearchQuery(line.text, LIMIT, mode), now=now)
    ranked = [hit.item.item_id.partition(".")[0] for hit in answer.hits]
    rank = ranked.index(line.fact) + 1 if line.fact in ranked else 0
    return Outcome(line, rank, tuple(hit.item.text for hit in answer.hits))


def _commands(lines: Sequence[Line]) -> Iterator[RememberItem]:
    """The commands that record a dialogue, then the questions that were asked before."""
    before = ""
    for number, (line, at) in enumerate(zip(lines, _times(lines), strict=True)):
        if line.sort in "ua+":
            name = f"{line.fact}.{number}"
            by = "" if line.sort != "a" else "some-model"
            yield _message(name, line.text, at, before, by)
            before = name
        elif line.sort == "*":
            yield RememberItem(f"{line.fact}.{number}", line.text, happened_at=at.isoformat())
    at = max(_times(lines))
    for time in range(2):
        at += timedelta(hours=6)
        before = ""
        for number, line in enumerate(lines):
            if len(line.sort) == 2:
                question, answer = f".q{time}-{number}", f".a{time}-{number}"
                yield _message(question, line.text, at, before, "")
                yield _message(answer, NOTHING, at, question, BUILT_IN_MODEL)
                at, before = at + timedelta(minutes=1), answer


def _message(name: str, text: str, at: datetime, before: str, model: str) -> RememberItem:
    return RememberItem(
        item_id=name,
        text=text,
        kind="message",
        origin=Origin(host="thread", session="home", model=model),
        learned_via="saw" if model else "told",
        happened_at=at.isoformat(),
        follows=before,
    )


def _times(lines: Sequence[Line]) -> list[datetime]:
    """When each line was said: a minute after the one before, from nine on each day."""
    at, times = datetime.fromtimestamp(0, UTC), list[datetime]()
    for line in lines:
        if line.sort == "@":
            at = datetime.fromisoformat(line.text).replace(hour=9, tzinfo=UTC)
        elif line.sort in "ua+*":
            at += timedelta(minutes=1)
        times.append(at)
    return times


def _figures(some: Sequence[Outcome]) -> dict[str, float]:
    good = [one for one in some if one.answerable]
    bad = [one for one in some if not one.answerable]
    figures = {
        "hit@1": fmean(one.rank == 1 for one in good),
        "hit@3": fmean(1 <= one.rank <= 3 for one in good),
        "mrr": fmean(1 / one.rank if one.rank else 0 for one in good),
        "nothing": fmean(not one.hits for one in bad),
    }
    rounded = {name: round(figure, 4) for name, figure in figures.items()}
    return {**rounded, "answerable": len(good), "unanswerable": len(bad)}


def _table(found: Mapping[str, Sequence[Outcome]], title: str) -> Table:
    table = Table(title=title)
    table.add_column("dialogue")
    all_figures = _figures([one for some in found.values() for one in some])
    for heading in all_figures:
        table.add_column(heading, justify="right")
    for name, some in found.items():
        table.add_row(name, *(f"{figure:g}" for figure in _figures(some).values()))
    table.add_section()
    table.add_row("all", *(f"{figure:g}" for figure in all_figures.values()), style="bold")
    goals = [GOALS.get(name) for name in all_figures]
    table.add_row("goal", *("" if goal is None else f"{goal:g}" for goal in goals), style="dim")
    return table


def _print_miss(console: Console, one: Outcome) -> None:
    if one.answerable and one.rank != 1:
        console.print(f"? {one.question.text} ({one.question.fact}: {one.rank or 'not found'})")
    elif not one.answerable and one.hits:
        console.print(f"! {one.question.text}")
    else:
        return
    for text in one.hits[:3]:
        console.print(f"    {text[:90]}", style="dim", markup=False)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.daily", description=__doc__)
    parser.add_argument("--mode", choices=("hybrid", "text"), default="hybrid")
    parser.add_argument("--misses", action="store_true", help="print what was not found")
    return parser


if __name__ == "__main__":
    sys.exit(main())
