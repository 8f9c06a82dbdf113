"""The view of tasks: rebuilt it is the live one, and many finished tasks cost nothing."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.workers.rig import Rig, rig

from everloop.app import USER
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.workers.projection import TaskTable


@pytest.fixture
def work(tmp_path: Path) -> Generator[Rig]:
    """An engine with a scheduler that is moved by hand."""
    with rig(tmp_path) as one:
        yield one


def dumped(work: Rig) -> list[Any]:
    """The rows of the view."""
    with work.engine.log.file.reading() as reader:
        return list(TaskTable().dump(reader.db))


@pytest.mark.promise("P-LOG-1")
def test_the_rebuilt_view_of_tasks_equals_the_live_one_also_after_a_purge(work: Rig) -> None:
    done, failed, retried = work.start("true"), work.start("false"), work.start("false")
    work.until(done, "done")
    work.until(failed, "failed")
    work.until(retried, "failed")
    work.engine.workers.retry(retried, USER)
    ended = work.task(failed).ended_at
    work.engine.purge([ended], reason="privacy", actor="user")
    live = dumped(work)
    rebuild_projections(work.engine.log, [TaskTable.name])
    assert dumped(work) == live


@pytest.mark.promise("P-LOG-6")
def test_a_task_whose_proposal_was_retracted_is_gone(work: Rig) -> None:
    name = work.start("true")
    work.until(name, "done")
    work.engine.log.retract([work.task(name).position], reason="slip", actor="user")
    board = work.engine.workers.board()
    assert (board.ended, board.active) == ((), ())
    assert work.waiting() == []


def test_a_folder_that_cannot_be_made_is_a_passing_failure(work: Rig, tmp_path: Path) -> None:
    (tmp_path / "workers").mkdir(exist_ok=True)
    (tmp_path / "workers" / "work").write_text("in the way")
    name = work.start("true")
    while work.task(name).tries == 0:
        work.scheduler.tick()
    task = work.task(name)
    assert (task.state, task.retry_at_us > 0) == ("approved", True)
    assert "cannot be prepared" in task.reason
