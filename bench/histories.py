"""What must not grow with the log: forking, rewinding, opening. And the preview of a retraction."""

from collections.abc import Callable
from itertools import count, islice
from pathlib import Path
from time import perf_counter

from bench.material import ACTOR, FOLD, STREAM, messages
from bench.race import Claim, Outcome, Rate, bounded, dearer, race, require, steady
from bench.workshop import Workshop, fill
from everloop.app import Engine
from everloop.log import MAIN, BackupPlan, Draft, Log
from everloop.settings import Settings

PREVIEWS = 9
SETTINGS = Settings(backups=BackupPlan(every_events=0, every_minutes=0))


def fork(shop: Workshop) -> Outcome:
    """Forking a long log, beside forking a short one."""
    return _beside_short(shop, "fork", _forks, goal=1.5)


def rewind(shop: Workshop) -> Outcome:
    """Rewinding a long log to its middle, beside a short one."""
    return _beside_short(shop, "rewind", _rewinds, goal=1.5)


def opening(shop: Workshop) -> Outcome:
    """Opening a log and asking the state of its one stream, of which there is a snapshot."""
    return _beside_short(shop, "open", _openings, goal=2)


def retract(shop: Workshop) -> Outcome:
    """What retracting a fact with many dependants would change."""
    dependants = shop.scale.dependants
    log = shop.open()
    fill(log, shop.scale.retracted - dependants)
    source = log.head // 2
    _derive(log, source, dependants)
    title = f"retract preview: {log.head:,} events, {dependants:,} dependants"
    costs = [_preview(log, source, expect=dependants + 1) for _ in range(PREVIEWS)]
    return bounded(Claim("retract", title, "", "s", "at most", goal=1), costs)


def _beside_short(
    shop: Workshop, name: str, side: Callable[[Workshop, Path], Rate], *, goal: float
) -> Outcome:
    long, short = shop.scale.long, shop.scale.short
    claim = Claim(
        name, f"{name} at {long:,} events", f"{name} at {short:,}", "ms", "at most", goal=goal
    )
    sides = side(shop, shop.filled(long)), side(shop, shop.filled(short))
    return dearer(claim, race(*sides, **shop.pace(share=0.3)))


def _forks(shop: Workshop, path: Path) -> Rate:
    log, names = shop.open(path), count()

    def act() -> int:
        log.fork(at=log.head // 2, name=f"fork-{next(names)}", actor=ACTOR)
        return 1

    return steady(act)


def _rewinds(shop: Workshop, path: Path) -> Rate:
    log = shop.open(path)

    def act() -> int:
        log.rewind(log.head // 2, actor=ACTOR)
        return 1

    return steady(act)


def _openings(_: Workshop, path: Path) -> Rate:
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
