"""Writers that are killed at random moments, and what is found afterwards.

Run as a separate program with one thread, so that it may fork: a writer is a fork of a process
that has everything imported already, and takes a few milliseconds to start. It prints what it
found as one line of JSON.

Each writer has a plan: its n-th request is always the same. It notes the number of a request in
its own file once the append returned. When it is killed its successor goes on after the last one
noted, and so repeats a request that may have been carried out.
"""

import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from enum import StrEnum
from itertools import count, pairwise
from pathlib import Path

import msgspec
from tests.faults.workload import ACTOR, LIMITS, VIEWS
from tests.log.samples import Said

from everloop.adapters.system import system_ports
from everloop.log import Receipt, Record, open_log
from everloop.log.integrity.verify import verify_log
from everloop.testing.log_audit import audit, read_records
from everloop.testing.seeded_random import SeededRandom

LOCK_WAIT_S = 60.0
LIFE_MAX_S = 0.03  # between two kills
DAWDLE_EVERY = 8  # requests


class Manner(StrEnum):
    """How a writer behaves: correctly, or wrongly so that `judge` must detect it."""

    WELL = "well"
    TOO_EARLY = "acknowledges before it has committed"
    FORGETFUL = "repeats a request under another id"


class Order(msgspec.Struct, frozen=True):
    """The parameters of a run."""

    folder: str
    seed: int
    kills: int
    writers: int = 3
    manner: Manner = Manner.WELL


class Outcome(msgspec.Struct, frozen=True):
    """What was found at the end."""

    kills: int
    acknowledged: int
    records: int
    lost: int
    duplicated: int
    torn: int
    repeated: int
    problems: list[str]


class Writer:
    """One incarnation of a writer."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._notes = folder / f"{name}.acknowledged"
        self._file = os.open(self._notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._log = open_log(
            folder / "everloop.db", VIEWS, ports=system_ports(LOCK_WAIT_S), limits=LIMITS
        )

    def work(self, manner: Manner) -> None:
        """Continue the plan after the last acknowledged request, for ever."""
        for number in count(last_acknowledged(self._notes) + 1):
            if manner is Manner.TOO_EARLY:
                self._note(number)
                self._append(number, f"{self.name}-{number}")
                continue
            known = manner is Manner.WELL
            receipt = self._request(number) if known else self._append(number, None)
            if receipt.repeated:
                (self._notes.parent / f"{self.name}-{number}.repeated").touch()
            if number % DAWDLE_EVERY == 0:
                time.sleep(LIFE_MAX_S)  # a wide target: killed here, it does the request again
            self._note(number)

    def _note(self, number: int) -> None:
        os.write(self._file, f"{number}\n".encode())

    def _request(self, number: int) -> Receipt:
        log, request = self._log, f"{self.name}-{number}"
        if number % 10 == 9:
            log.maintenance.checkpoint()
        match kind_of(number):
            case "retract":
                before = self._before(number)
                return log.retract([before], reason="", actor=ACTOR, request_id=request)
            case "purge":
                before = self._before(number)
                return log.purge([before], reason="", actor=ACTOR, request_id=request)
            case "fork":
                return log.fork(name=request, actor=ACTOR, request_id=request)
            case _:
                return self._append(number, request)

    def _append(self, number: int, request: str | None) -> Receipt:
        stream = "shared" if number % 2 else self.name
        said = [Said(text) for text in planned_text(self.name, number)]
        return self._log.append(stream, said, actor=ACTOR, request_id=request)

    def _before(self, number: int) -> int:
        with self._log.file.reading() as reader:
            return reader.records_of_request(f"{self.name}-{number - 1}")[0].position


def kind_of(number: int) -> str:
    """What a writer's n-th request does."""
    kinds = {29: "retract", 49: "fork", 69: "purge"}
    return kinds.get(number % 100, "append")


def planned_text(name: str, number: int) -> list[str]:
    """The texts of the n-th request of a writer, if it appends some."""
    return [f"{name}-{number}/{part}" for part in range(1 + number % 3)]


def last_acknowledged(notes: Path) -> int:
    """The last request that was acknowledged. The notes count up from 1."""
    lines = notes.read_text().split() if notes.exists() else []
    return int(lines[-1]) if lines else 0


def drive(order: Order) -> int:
    """Kill and restart writers; returns how many kills hit one that was alive."""
    chance = SeededRandom(order.seed)
    names = [f"w{number}" for number in range(order.writers)]
    alive = {name: _start(order, name) for name in names}
    hit = 0
    for _ in range(order.kills):
        time.sleep(chance.uniform(0, LIFE_MAX_S))  # the random moment, not a synchronisation
        name = chance.choice(names)
        hit += _kill(alive[name])
        alive[name] = _start(order, name)
    for pid in alive.values():
        _kill(pid)
    return hit


def _start(order: Order, name: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        Writer(Path(order.folder), name).work(order.manner)
    except BaseException as problem:  # noqa: BLE001 - a fork must never return to its parent's code
        _complain(Path(order.folder), name, problem)
    os._exit(1)


def _complain(folder: Path, name: str, problem: BaseException) -> None:
    with (folder / "complaints").open("a") as complaints:
        trace = "".join(traceback.format_exception(problem)).replace("\n", " | ")
        complaints.write(f"{name}: {trace}\n")


def _kill(pid: int) -> bool:
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def judge(order: Order, hit: int) -> Outcome:
    """Compare the stored records with what was acknowledged."""
    folder = Path(order.folder)
    records = read_records(folder / "everloop.db")
    acknowledged = {
        f"w{n}": last_acknowledged(folder / f"w{n}.acknowledged") for n in range(order.writers)
    }
    return Outcome(
        kills=hit,
        acknowledged=sum(acknowledged.values()),
        records=len(records),
        lost=len(lost(records, acknowledged)),
        duplicated=sum(copies - 1 for copies in _texts(records).values()),
        torn=torn(records),
        repeated=len(list(folder.glob("*.repeated"))),
        problems=[
            *audit(folder / "everloop.db", VIEWS),
            *_unverified(folder / "everloop.db"),
            *_complaints(folder),
        ],
    )


def lost(records: list[Record], acknowledged: dict[str, int]) -> list[str]:
    """Acknowledged requests of which something is missing."""
    requests = {record.request_id for record in records}
    purged = {record.request_id for record in records if record.purged}
    texts = _texts(records)
    missing: list[str] = []
    for name, last in acknowledged.items():
        for number in range(1, last + 1):
            request = f"{name}-{number}"
            if kind_of(number) == "append":
                there = request in purged or all(
                    text in texts for text in planned_text(name, number)
                )
            else:
                there = request in requests
            if not there:
                missing.append(request)
    return missing


def torn(records: list[Record]) -> int:
    """How many requests were recorded only in part, or not contiguously."""
    parts: dict[str, list[Record]] = {}
    for record in records:
        parts.setdefault(record.request_id, []).append(record)
    return sum(_is_torn(request, group) for request, group in parts.items())


def _is_torn(request: str, group: list[Record]) -> bool:
    name, _, number = request.partition("-")
    if not name.startswith("w"):
        return False  # an id that was made up: a control
    whole = len(planned_text(name, int(number))) if kind_of(int(number)) == "append" else 1
    together = all(a.position + 1 == b.position for a, b in pairwise(group))
    return not together or len(group) != whole


def _texts(records: list[Record]) -> Counter[str]:
    return Counter(
        msgspec.json.decode(record.data, type=Said).text
        for record in records
        if record.kind == Said.wire and record.data is not None
    )


def _unverified(path: Path) -> list[str]:
    """What the engine itself finds wrong; it should agree with the audit."""
    with closing(open_log(path, VIEWS, ports=system_ports(LOCK_WAIT_S))) as log:
        return [f"verify: {damage}" for damage in verify_log(log).damage]


def _complaints(folder: Path) -> Iterator[str]:
    if (folder / "complaints").exists():
        yield from (folder / "complaints").read_text().splitlines()


def main(arguments: list[str], say: Callable[[bytes], object]) -> None:
    """Run with the parameters given as JSON."""
    order = msgspec.json.decode(arguments[0], type=Order)
    say(msgspec.json.encode(judge(order, drive(order))))


if __name__ == "__main__":
    main(sys.argv[1:], sys.stdout.buffer.write)
