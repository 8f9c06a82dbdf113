"""What must not grow with the log: forking, rewinding, opening. And the preview of a retraction."""

from collections.abc import Callable
from itertools import count, islice
from pathlib import Path
from time import perf_counter

from bench.comparison import Claim, Outcome, Rate, bounded, compare, dearer, require, steady
from bench.material import ACTOR, FOLD, STREAM, messages
from bench.run_folder import RunFolder, fill
from everloop.app import Engine
from everloop.log import MAIN, BackupPlan, Draft, Log
from everloop.settings import Settings

PREVIEWS = 9
SETTINGS = Settings(backups=BackupPlan(every_events=0, every_minutes=0))


def fork(run: RunFolder) -> Outcome:
    """Forking a long log, beside forking a short one."""
    return _beside_short(run, "fork", _forks, goal=1.5)


def rewind(run: RunFolder) -> Outcome:
    """Rewinding a long log to its middle, beside a short one."""
    return _beside_short(run, "rewind", _rewinds, goal=1.5)


def opening(run: RunFolder) -> Outcome:
    """Opening a log and asking the state of its one stream, of which there is a snapshot."""
    return _beside_short(run, "open", _openings, goal=2)


def retract(run: RunFolder) -> Outcome:
    """What retracting a fact with many dependants would change."""
    dependants = run.scale.dependants
    log = run.open()
    fill(log, run.scale.retracted - dependants)
    source = log.head // 2
    _derive(log, source, dependants)
    title = f"retract preview: {log.head:,} events, {dependants:,} dependants"
    costs = [_preview(log, source, expect=dependants + 1) for _ in range(PREVIEWS)]
    return bounded(Claim("retract", title, "", "s", "at most", goal=1), costs)


def _beside_short(
    run: RunFolder, name: str, side: Callable[[RunFolder, Path], Rate], *, goal: float
) -> Outcome:
    long, short = run.scale.long, run.scale.short
    claim = Claim(
        name, f"{name} at {long:,} events", f"{name} at {short:,}", "ms", "at most", goal=goal
    )
    sides = side(run, run.filled(long)), side(run, run.filled(short))
    return dearer(claim, compare(*sides, **run.pace(share=0.3)))


def _forks(run: RunFolder, path: Path) -> Rate:
    log, names = run.open(path), count()

    def act() -> int:
        log.fork(at=log.head // 2, name=f"fork-{next(names)}", actor=ACTOR)
        return 1

    return steady(act)


def _rewinds(run: RunFolder, path: Path) -> Rate:
    log = run.open(path)

    def act() -> int:
        log.rewind(log.head // 2, actor=ACTOR)
        return 1

    return steady(act)


def _openings(_: RunFolder, path: Path) -> Rate:
    def run(seconds: float) -> float:
        spent, done = 0.0, 0
        while spent < seconds:
            start = perf_counter()
            engine = Engine.open(path, settings=SETTINGS, projections=())
            tally = engine.log.state(FOLD, STREAM, branch=MAIN)
            spent += perf_counter() - start
            engine.close()
            require(tally is not None, "there is no state")
            done += 1
        return done / spent

    return run


def _derive(log: Log, source: int, dependants: int) -> None:
    """Facts that each come from the source and from the one before: both wide and deep."""
    because: tuple[int, ...] = (source,)
    for said in islice(messages(), dependants):
        receipt = log.append(STREAM, [Draft(said, because)], actor=ACTOR)
        because = (source, receipt.position)


def _preview(log: Log, source: int, *, expect: int) -> float:
    start = perf_counter()
    impact = log.preview_retract([source])
    spent = perf_counter() - start
    require(len(impact.hides) == expect, "the preview lacks something")
    return spent
