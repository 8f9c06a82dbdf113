"""Run the measures: `python -m bench`, or some of them by name; `--quick` for a minute's look."""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.console import Console

from bench import (
    appends,
    branches,
    gate,
    http,
    manifest,
    memory,
    peer,
    postgres,
    postgres_turn,
    replays,
    report,
    rpc,
    thread,
    worker_processes,
    workers,
    worlds,
)
from bench.comparison import Outcome
from bench.run_folder import FULL, QUICK, TINY, RunFolder, run_folder

Measure = Callable[[RunFolder], Outcome]

SCALES = {"full": FULL, "quick": QUICK, "tiny": TINY}
WIDTH = 140  # of a table that goes into a file
RESULTS = Path(__file__).parent / "results"

MEASURES: dict[str, Measure] = {
    "append": appends.single,
    "concurrent": appends.concurrent,
    "views": appends.views,
    "replay": replays.fold,
    "memory": replays.memory,
    "open": branches.opening,  # before those that leave branches behind
    "fork": branches.fork,
    "rewind": branches.rewind,
    "retract": branches.retract,
    "peer-append": peer.single,
    "peer-batch": peer.batched,
    "peer-replay": peer.replay,
    "postgres": postgres.clients,
    "postgres-nodes": postgres.nodes,
    "postgres-turn": postgres_turn.turn,
    "rpc-start": rpc.start,
    "rpc-get": rpc.get,
    "rpc-list": rpc.listed,
    **memory.measures(),
    **manifest.measures(),
    **gate.measures(),
    **http.measures(),
    **thread.measures(),
    **worlds.measures(),
    **workers.measures(),
    **worker_processes.measures(),
}
NAMED = MEASURES | memory.soaked()  # those that take an hour are run only by name


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write. The exit code says whether the run worked, not how fast it was."""
    asked = _parser().parse_args(arguments)
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    with run_folder(asked.into, SCALES[asked.scale]) as run:
        flushes = [run.flush_ms()]
        outcomes = list(_measured(asked.names or MEASURES, run, console))
        flushes.append(run.flush_ms())
    report.show(outcomes, flushes, console)
    for path in report.write(outcomes, flushes, asked.into, asked.scale):
        console.print(f"written: {path.name}", style="dim")
    return 0


def _measured(names: Iterable[str], run: RunFolder, console: Console) -> Iterable[Outcome]:
    for name in names:
        with console.status(f"measuring: {name}"):
            yield NAMED[name](run)
            run.close()
    memory.close()
    manifest.close()
    thread.close()
    worlds.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", type=_name, metavar="NAME", help=", ".join(NAMED))
    parser.add_argument("--scale", choices=SCALES, default="full", help="how much to do")
    parser.add_argument("--quick", dest="scale", action="store_const", const="quick")
    parser.add_argument("--into", type=Path, default=RESULTS, help="where the results go")
    return parser


def _name(text: str) -> str:
    if text not in NAMED:
        raise argparse.ArgumentTypeError(f"no measure {text!r}; there are {', '.join(NAMED)}")
    return text


if __name__ == "__main__":
    sys.exit(main())
