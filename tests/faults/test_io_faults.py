"""Every single I/O call of a workload fails, in every way it can; and nothing is lost."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest
from tests.faults.places import scratch_folder
from tests.faults.workload import (
    VIEWS,
    Step,
    open_engine,
    steps_not_done_once,
    workload,
    wrongly_folded_streams,
)

from everloop.errors import EverloopError, Unavailable
from everloop.testing.faulty_disk import DiskFault, FaultKind, FaultyDisk, faulty_disk
from everloop.testing.log_audit import audit, read_records

T = TypeVar("T")
Repeat = Callable[[Step], Step | None]

STEPS = workload()
PARTS = 16  # so that several processes can share the sweep, and a busy machine takes its time


@dataclass
class Trial:
    """The workload on a disk with one fault; what fails is tried again when the fault is gone."""

    disk: FaultyDisk
    errors: list[EverloopError] = field(default_factory=list)
    misfolded: list[str] = field(default_factory=list)

    def run(self, path: Path, repeat: Repeat) -> None:
        """Open, take every step, close."""
        engine = self._twice(lambda: open_engine(path, vfs=self.disk.name))
        for step in STEPS:
            try:
                step.act(engine, step.request)
            except EverloopError as problem:
                self._note(problem)
                again = repeat(step)
                if again is not None:
                    again.act(engine, again.request)
        self.misfolded = self._twice(lambda: wrongly_folded_streams(engine.log))
        self._twice(engine.close)

    def _twice(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except EverloopError as problem:
            self._note(problem)
            return act()

    def _note(self, problem: EverloopError) -> None:
        self.errors.append(problem)
        self.disk.heal()


def same_request(step: Step) -> Step:
    """What a good caller does after an error: retry with the same request id."""
    return step


def another_request(step: Step) -> Step:
    """What a bad caller does after an error: retry with another request id."""
    return Step(f"{step.request}-again", step.records, step.act)


def swallow(step: Step) -> None:
    """What a bad caller does after an error: ignore it."""
    del step


def problems_after(fault: DiskFault, repeat: Repeat = same_request) -> list[str] | None:
    """The problems after a workload with a fault; None if the fault never occurred."""
    with scratch_folder() as folder, faulty_disk() as disk:
        path = folder / "everloop.db"
        disk.fault = fault
        trial = Trial(disk)
        try:
            trial.run(path, repeat)
        except Exception as problem:  # noqa: BLE001 - that any escaped is what we report
            return [f"escaped: {problem!r}"]
        return (
            [*_audit_problems(path), *_unclear(trial.errors), *trial.misfolded]
            if disk.failures
            else None
        )


def _audit_problems(path: Path) -> Iterator[str]:
    yield from audit(path, VIEWS)
    yield from steps_not_done_once(read_records(path), STEPS)
    with open_engine(path) as engine:
        yield from wrongly_folded_streams(engine.log)


def _unclear(errors: list[EverloopError]) -> Iterator[str]:
    for error in errors:
        if type(error) is not Unavailable or not error.hint or not str(error):
            yield f"an unclear error: {error!r}, hint {error.hint!r}"


def sweep(kind: FaultKind, *, lasting: bool, points: Iterable[int]) -> dict[int, list[str]]:
    """The fault points that ended badly, and how; up to where the workload ends."""
    bad: dict[int, list[str]] = {}
    for at in points:
        problems = problems_after(DiskFault(kind, at, lasting))
        if problems is None:
            return bad
        if problems:
            bad[at] = problems
    return bad


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(
    ("kind", "lasting", "stride"),
    [
        (FaultKind.ERROR, False, 5),  # every fifth call, from another one each time
        (FaultKind.FULL, True, 5),
        (FaultKind.TORN, False, 5),
        pytest.param(FaultKind.ERROR, False, 1, marks=pytest.mark.soak),
        pytest.param(FaultKind.ERROR, True, 1, marks=pytest.mark.soak),
        pytest.param(FaultKind.FULL, True, 1, marks=pytest.mark.soak),
        pytest.param(FaultKind.FULL, False, 1, marks=pytest.mark.soak),
        pytest.param(FaultKind.TORN, True, 1, marks=pytest.mark.soak),
        pytest.param(FaultKind.TORN, False, 1, marks=pytest.mark.soak),
    ],
)
@pytest.mark.promise("P-LOG-2")
def test_a_failure_of_any_io_call_loses_nothing_and_repeats_nothing(
    seed: int, kind: FaultKind, lasting: bool, stride: int, part: int
) -> None:
    first = 1 + seed % stride
    assert sweep(kind, lasting=lasting, points=count(first + part * stride, PARTS * stride)) == {}


def test_control_an_error_treated_as_success_is_detected() -> None:
    bad = [
        problems_after(DiskFault(FaultKind.ERROR, at, lasting=True), swallow)
        for at in range(100, 400, 50)
    ]
    assert all(bad)


def test_control_a_retry_with_another_id_is_detected_if_the_first_was_recorded() -> None:
    assert any(was_done_twice(at) for at in range(100, 300))


def was_done_twice(at: int) -> bool:
    """Whether a fault made a bad caller do something twice: an error came, the record too."""
    problems = problems_after(DiskFault(FaultKind.ERROR, at, lasting=True), another_request) or []
    missing = [problem for problem in problems if ": 0 records" in problem]
    return bool(problems) and not missing


def test_a_fault_after_the_end_of_the_workload_has_no_effect() -> None:
    assert problems_after(DiskFault(FaultKind.ERROR, at=1_000_000)) is None
