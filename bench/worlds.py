"""Worlds: import of a long chat with swipes, and turns and rewinds in a long story."""

from functools import partial

import msgspec

from bench.comparison import OWN_TIME, Claim, Outcome, Round, bounded, dearer, own_ms, require
from bench.long_world import LongWorld
from bench.run_folder import RunFolder
from everloop.app import USER, Engine

MESSAGES = 10_000
SWIPES = 3
FEW_TURNS, MANY_TURNS = 100, 10_000
WARM = 4
TURNS = 25
BACK = (3, 8, 20, 5_000, 12_000)  # messages that a player goes back by, one after the other


def measures() -> dict[str, partial[Outcome]]:
    """Every measure by name."""
    return {
        "world-import": partial(import_chat, messages=MESSAGES),
        "world-turn": partial(before_the_model, turns=MANY_TURNS),
        "world-after": partial(after_the_stream, turns=MANY_TURNS),
        "world-growth": partial(growth, few=FEW_TURNS, many=MANY_TURNS),
        "world-rewind": partial(rewind, turns=MANY_TURNS),
    }


def before_the_model(run: RunFolder, *, turns: int) -> Outcome:
    """From a line that was sent to the call of the model, in a long story."""
    title = f"from a line to the call of the model, after {turns:,} turns of a world"
    claim = Claim("world-turn", title, "", "ms", "at most", goal=30, note=OWN_TIME)
    played = [_world(run, turns).turn() for _ in range(WARM + TURNS)]
    return bounded(claim, [one.before_ms for one in played[WARM:]])


def after_the_stream(run: RunFolder, *, turns: int) -> Outcome:
    """From the end of a reply until all that follows from it is recorded, by rules alone."""
    title = f"from a reply to all that follows from it, after {turns:,} turns of a world"
    claim = Claim("world-after", title, "", "ms", "at most", goal=50, note=OWN_TIME)
    played = [_world(run, turns).turn() for _ in range(WARM + TURNS)]
    return bounded(claim, [one.after_ms for one in played[WARM:]])


def growth(run: RunFolder, *, few: int, many: int) -> Outcome:
    """How many times dearer a turn is in a long story than in a short one."""
    title = f"our own part of a turn after {many:,} turns of a world"
    claim = Claim("world-growth", title, f"after {few:,}", "ms", "at most", 2, OWN_TIME)
    short, long = _world(run, few), _world(run, many)
    return dearer(claim, [_round(long, short) for _ in range(WARM + TURNS)][WARM:])


def _round(long: LongWorld, short: LongWorld) -> Round:
    ours, other = long.turn(), short.turn()
    return Round(
        1_000 / (ours.before_ms + ours.after_ms), 1_000 / (other.before_ms + other.after_ms)
    )


def rewind(run: RunFolder, *, turns: int) -> Outcome:
    """Going back by some messages, until a prompt is ready."""
    title = f"rewind to a ready prompt, after {turns:,} turns of a world"
    claim = Claim("world-rewind", title, "", "ms", "at most", goal=100, note=OWN_TIME)
    world = _world(run, turns)
    return bounded(claim, [world.rewind_ms(back) for back in BACK])


def _world(run: RunFolder, turns: int) -> LongWorld:
    if turns not in _worlds:
        _worlds[turns] = LongWorld(run.folder(f"world-{turns}"), turns)
    return _worlds[turns]


_worlds: dict[int, LongWorld] = {}  # made once in a run


def close() -> None:
    """Close the logs that were made for this run."""
    for one in _worlds.values():
        one.close()
    _worlds.clear()


def import_chat(run: RunFolder, *, messages: int) -> Outcome:
    """Import a chat in which every other message has swipes."""
    title = f"import a chat of {messages:,} messages with swipes"
    claim = Claim("world-import", title, "", "ms", "at most", goal=10_000, note=OWN_TIME)
    folder = run.folder("world-import")
    folder.mkdir(parents=True)
    chat = folder / "chat.jsonl"
    chat.write_bytes(b"\n".join(_line(number) for number in range(messages)))
    with Engine.open(folder / "home") as engine:
        exchange = engine.exchange
        done: list[int] = []
        taken = own_ms(lambda: done.append(exchange.run(exchange.open(chat), USER).messages))
        require(done == [messages], "not every message was imported")
    return bounded(claim, [taken])


def _line(number: int) -> bytes:
    said = [f"Line {number}. {'Word ' * 40}{swipe}" for swipe in range(SWIPES)]
    line: dict[str, object] = {"name": "Ada", "is_user": number % 2 == 0, "mes": said[0]}
    line |= {"send_date": 1_700_000_000_000 + number, "extra": {"model": "x"}}
    if number % 2:
        line |= {"swipes": said, "swipe_id": 0}
    return msgspec.json.encode(line)
