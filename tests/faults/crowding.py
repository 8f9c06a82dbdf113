"""Many processes append to the same streams of one file at once, and what is found afterwards.

Run as a separate program with one thread, so that it may fork. It prints its findings as one line
of JSON. Half of the appends have an expected version and are retried after a conflict, as a caller
should.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import msgspec
from tests.faults.workload import ACTOR, LIMITS
from tests.log.samples import Said, Tally

from everloop.adapters.system import system_ports
from everloop.errors import Conflict
from everloop.log import Log, Record, open_log
from everloop.testing.log_audit import audit, read_records
from everloop.testing.seeded_random import SeededRandom

LOCK_WAIT_S = 60.0
STREAMS = ("a", "b", "c", "d", "e")
VIEWS = (Tally(),)


class Manner(StrEnum):
    """How a process behaves: correctly, or wrongly so that `judge` must detect it."""

    WELL = "well"
    SWALLOWS = "takes a conflict for a success"


class Order(msgspec.Struct, frozen=True):
    """The parameters of a run."""

    folder: str
    seed: int
    processes: int
    appends: int  # of each process
    manner: Manner = Manner.WELL


class Report(msgspec.Struct):
    """What one process says it did: each append, the version it got and the one it expected."""

    appended: list[tuple[str, str, int, int | None]] = msgspec.field(default_factory=list)
    conflicts: int = 0


class Outcome(msgspec.Struct, frozen=True):
    """What was found at the end."""

    appended: int
    conflicts: int
    problems: list[str]


def crowd(order: Order) -> list[Report]:
    """Let all processes go at once; returns their reports."""
    gate, opener = os.pipe()
    pids = [_start(order, number, gate, opener) for number in range(order.processes)]
    os.close(opener)  # all of them wait to read the end of this
    failed = [pid for pid in pids if os.waitpid(pid, 0)[1]]
    assert not failed, f"{len(failed)} processes failed"
    files = (Path(order.folder) / f"{number}.report" for number in range(order.processes))
    return [msgspec.json.decode(file.read_bytes(), type=Report) for file in files]


def _start(order: Order, number: int, gate: int, opener: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.close(opener)
        os.read(gate, 1)
        report = _append_all(order, number)
        (Path(order.folder) / f"{number}.report").write_bytes(msgspec.json.encode(report))
        status = 0
    finally:
        os._exit(status)  # a fork must never return to its parent's code


def _append_all(order: Order, number: int) -> Report:
    path = Path(order.folder) / "everloop.db"
    log = open_log(path, VIEWS, ports=system_ports(LOCK_WAIT_S), limits=LIMITS)
    chance = SeededRandom(order.seed + number)
    report = Report()
    for turn in range(order.appends):
        stream, text = chance.choice(STREAMS), f"{number}-{turn}"
        if chance.happens(0.5):
            receipt = log.append(stream, [Said(text)], actor=ACTOR, request_id=text)
            report.appended.append((stream, text, receipt.version, None))
        else:
            _append_expecting(log, stream, text, report, order.manner)
    log.close()
    return report


def _append_expecting(log: Log, stream: str, text: str, report: Report, manner: Manner) -> None:
    while True:
        with log.file.reading() as reader:
            version = reader.stream_head(stream, log.file.branches.current_branch_of(stream))[0]
        try:
            receipt = log.append(
                stream, [Said(text)], actor=ACTOR, expected=version, request_id=text
            )
        except Conflict:
            report.conflicts += 1
            if manner is Manner.SWALLOWS:
                report.appended.append((stream, text, version + 1, version))
                return
        else:
            report.appended.append((stream, text, receipt.version, version))
            return


def judge(order: Order, reports: list[Report]) -> Outcome:
    """Compare the stored records with the reports of the processes."""
    path = Path(order.folder) / "everloop.db"
    records = read_records(path)
    said = [entry for report in reports for entry in report.appended]
    problems = [
        *audit(path, VIEWS),
        *_different(records, said),
        *(problem for report in reports for problem in _disorder(records, report)),
    ]
    return Outcome(len(said), sum(report.conflicts for report in reports), problems[:20])


def _different(records: list[Record], said: list[tuple[str, str, int, int | None]]) -> list[str]:
    there = Counter((record.stream, _text(record), record.version) for record in records)
    wanted = Counter((stream, text, version) for stream, text, version, _ in said)
    jumped = [text for _, text, version, expected in said if expected not in {None, version - 1}]
    return [
        *(f"lost: {entry}" for entry in (wanted - there)),
        *(f"not reported, or twice: {entry}" for entry in (there - wanted)),
        *(f"carried out on another version than expected: {text}" for text in jumped),
    ]


def _disorder(records: list[Record], report: Report) -> list[str]:
    """Appends of one process that are recorded in another order."""
    positions = {_text(record): record.position for record in records}
    own = [positions.get(text, 0) for _, text, _, _ in report.appended]
    return [f"{b} was appended after {a}" for a, b in pairwise(own) if b <= a]


def _text(record: Record) -> str:
    assert record.data is not None, "nothing is purged here"
    return msgspec.json.decode(record.data, type=Said).text


def main(arguments: list[str], say: Callable[[bytes], object]) -> None:
    """Run with the parameters given as JSON."""
    order = msgspec.json.decode(arguments[0], type=Order)
    say(msgspec.json.encode(judge(order, crowd(order))))


if __name__ == "__main__":
    main(sys.argv[1:], sys.stdout.buffer.write)
