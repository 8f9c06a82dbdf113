"""Tasks: the first page of board and inbox beside many finished ones."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from bench.comparison import OWN_TIME, Claim, Outcome, bounded, own_ms, require
from bench.run_folder import RunFolder
from everloop.adapters.system import system_ports
from everloop.app import PROJECTIONS, Engine
from everloop.inbox.model.events import Choice, RequestRaised
from everloop.log import Draft, Log, open_log
from everloop.settings import Settings
from everloop.workers.model import events as e
from everloop.workers.model.spec import TaskSpec

TASKS = 10_000
SHOWN = 50
CLIENTS = 64


def measures() -> dict[str, partial[Outcome]]:
    """Every measure by name."""
    return {
        "task-board": partial(first_page, what="board"),
        "task-inbox": partial(first_page, what="inbox"),
    }


def first_page(run: RunFolder, *, what: str, tasks: int = TASKS) -> Outcome:
    """The board, or the inbox, beside finished tasks that nobody has looked at yet."""
    title = f"first page of the {what} beside {tasks:,} finished tasks"
    claim = Claim(f"task-{what}", title, "", "ms", "at most", goal=10, note=OWN_TIME)
    folder = run.folder(f"task-{what}")
    folder.mkdir(parents=True)
    ports = system_ports(10)
    log = open_log(folder / "everloop.db", [view() for view in PROJECTIONS], ports=ports)
    with ThreadPoolExecutor(CLIENTS) as pool:  # many at once share a write to the disk
        list(pool.map(partial(_finished, log), range(tasks)))
    engine = Engine(log, ports, Settings())

    def board() -> None:
        require(len(engine.workers.board(SHOWN).ended) == SHOWN, "the board is not full")

    def inbox() -> None:
        require(bool(engine.inbox.overview().finished), "the inbox is empty")

    taken = [own_ms(board if what == "board" else inbox) for _ in range(9)]
    log.close()
    return bounded(claim, taken)


def _finished(log: Log, number: int) -> None:
    """A task from its proposal to its end, and what the inbox says of it."""
    name = f"tsk-{number:06d}"
    drafts = [
        Draft(e.TaskProposed(name, TaskSpec(f"Task {number}", command=("true",)))),
        Draft(e.TaskStarted(name, "run"), beside=(0,)),
        Draft(e.AttemptBegun(name, 1, "run", "here", ""), beside=(0,)),
        Draft(e.AttemptEnded(name, 1, "succeeded", 0, "", "", 0.1, 0), beside=(0,)),
        Draft(e.TaskDone(name, f"{name}.finished.1", ""), beside=(0,)),
    ]
    log.append(f"task:{name}", drafts, actor="user")
    told = f"{name}.finished.1"
    title, choices = f"Done: Task {number}", (Choice("ok", "OK"),)
    raised = RequestRaised(
        told, "finished", "normal", title, "", choices, (), f"task:{name}", 0, "", "0" * 64
    )
    log.append(f"inbox:{told}", [Draft(raised)], actor="engine")
