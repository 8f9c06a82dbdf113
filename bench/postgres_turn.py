"""A turn with the built-in model over two PostgreSQL nodes, beside one node on SQLite.

The message is sent at a node that does not run the turns, and the turn counts as over when the
answer has arrived there. Both sides wait for the disk, and work in processes of their own.
"""

import multiprocessing
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from itertools import count
from multiprocessing.connection import Connection as Wire
from multiprocessing.synchronize import Event
from pathlib import Path

from bench.comparison import Claim, Outcome, Rate, compare, dearer, require, steady
from bench.run_folder import RunFolder
from everloop.app import USER, Engine
from everloop.memory.settings import MemorySettings
from everloop.model_settings import ModelSettings
from everloop.services import Services
from everloop.settings import Settings
from everloop.testing.postgres import postgres_server
from everloop.thread.service import OutgoingMessage

READY_S = 120
GOAL = 1.9  # 150 ms, where a turn takes 80 on SQLite
ANSWERED = "thread.answer_given"


def turn(run: RunFolder) -> Outcome:
    """Turns over two nodes, beside turns on one."""
    title = "a turn with the built-in model, over two PostgreSQL nodes"
    claim = Claim("postgres-turn", title, "one node on SQLite", "ms", "at most", goal=GOAL)
    folder = run.folder("postgres-turn")
    folder.mkdir()
    with postgres_server(folder) as server, ExitStack() as open_:
        homes = [run.folder(f"turn-{name}") for name in ("runs", "sends", "alone")]
        open_.enter_context(_node_that_runs_turns(homes[0], server.url))
        ours = open_.enter_context(_node_that_sends(homes[1], server.url))
        alone = open_.enter_context(_node_that_sends(homes[2], ""))
        rounds = max(2, run.scale.rounds // 2)
        return dearer(claim, compare(ours, alone, rounds=rounds, slice_s=5 * run.scale.slice_s))


@contextmanager
def _node_that_runs_turns(home: Path, url: str) -> Generator[None]:
    context = multiprocessing.get_context("spawn")
    ready, over = context.Event(), context.Event()
    process = context.Process(target=_run_turns, args=(home, url, ready, over))
    process.start()
    require(ready.wait(READY_S), "the node that runs the turns did not start")
    try:
        yield
    finally:
        over.set()
        process.join()


@contextmanager
def _node_that_sends(home: Path, url: str) -> Generator[Rate]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_send_turns, args=(home, url, theirs))
    process.start()

    def rate(seconds: float) -> float:
        ours.send(seconds)
        rate: float = ours.recv()
        return rate

    try:
        rate(0.1)  # until it is there
        yield rate
    finally:
        ours.send(None)
        process.join()


# -- in processes of their own ---------------------------------------------------------------------


@contextmanager
def _node(home: Path, url: str) -> Generator[tuple[Engine, Services]]:
    settings = Settings(
        home=str(home),
        store=url,
        memory=MemorySettings(embedder="none"),
        models=ModelSettings(narrative="offline", classifier="offline"),
    )
    with Engine.open(url or home, settings=settings) as engine, Services(engine, settings) as at:
        yield engine, at


def _run_turns(home: Path, url: str, ready: Event, over: Event) -> None:
    with _node(home, url) as (_, services):
        require(services.turns.leads.wait(READY_S), "another node runs the turns")
        ready.set()
        over.wait()


def _send_turns(home: Path, url: str, wire: Wire) -> None:
    with _node(home, url) as (engine, services):
        numbers = count()

        def send() -> int:
            after, text = engine.log.head, f"Number {next(numbers)} is what I like, with tea."
            sent = services.talk.send("home", OutgoingMessage(text), USER)
            for fact in engine.log.follow(after=after):
                wire_name, turn_id = fact.event.wire, getattr(fact.event, "turn_id", "")
                if wire_name == ANSWERED and turn_id == sent.turn_id:
                    break
            return 1

        turns = steady(send)
        while (seconds := wire.recv()) is not None:
            wire.send(turns(seconds))
