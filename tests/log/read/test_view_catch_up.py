"""Views stay up to date, even if another process writes that does not know them."""

from collections.abc import Generator
from pathlib import Path

import apsw
import pytest
from tests.log.samples import Said, Sayings

from everloop.log import Log
from everloop.log.read.lineage import Lineage
from everloop.log.read.queries import ViewList, ViewStatus
from everloop.testing.deterministic import DeterministicPorts


@pytest.fixture
def log_with_view(stage: DeterministicPorts, tmp_path: Path) -> Generator[Log]:
    """A log with a view."""
    log = stage.open(tmp_path / "shared.db", [Sayings()])
    yield log
    log.close()


@pytest.fixture
def log_without_view(
    log_with_view: Log, stage: DeterministicPorts, tmp_path: Path
) -> Generator[Log]:
    """The same file, opened without the view."""
    assert log_with_view.head == 0
    log = stage.open(tmp_path / "shared.db", [])
    yield log
    log.close()


def _say(log: Log, *texts: str) -> None:
    for text in texts:
        log.append("home", [Said(text=text)], actor="user")


def _sayings(log: Log) -> list[str]:
    with log.reading() as reader:
        return [row[0] for row in reader.rows("SELECT text FROM sayings ORDER BY position")]


def test_appends_of_a_writer_without_the_view_are_folded_by_the_next_process_that_has_it(
    log_with_view: Log, log_without_view: Log
) -> None:
    _say(log_with_view, "a")
    _say(log_without_view, "b", "c")
    assert _sayings(log_with_view) == ["a", "b", "c"]
    _say(log_without_view, "d")
    _say(log_with_view, "e")
    _say(log_without_view, "f")
    assert _sayings(log_with_view) == ["a", "b", "c", "d", "e", "f"]


def test_a_writer_without_the_view_notices_that_another_has_folded_it_meanwhile(
    log_with_view: Log, log_without_view: Log, stage: DeterministicPorts, tmp_path: Path
) -> None:
    _say(log_without_view, "a")
    assert _sayings(log_with_view) == ["a"]  # it folds, and appends nothing
    _say(log_without_view, "b")
    again = stage.open(tmp_path / "shared.db", [Sayings()])
    assert _sayings(again) == ["a", "b"]
    again.close()


def test_an_up_to_date_view_is_at_the_head_of_the_log(
    log_with_view: Log, log_without_view: Log
) -> None:
    _say(log_with_view, "a", "b")
    with log_with_view.reading() as reader:
        assert {line.position for line in ViewList().answer(reader)} == {2}
    _say(log_without_view, "c")
    with log_without_view.reading() as reader:
        assert ViewList().answer(reader) == [
            ViewStatus("lineage", Lineage.version, 3),
            ViewStatus("sayings", 1, 2),
        ]


def test_a_build_that_rebuilds_the_lineage_view_still_knows_the_branches(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    path = tmp_path / "shared.db"
    log = stage.open(path)
    _say(log, "a")
    log.fork(name="aside", at=1, actor="user")
    log.switch_branch("aside", actor="user")
    log.close()
    db = apsw.Connection(str(path))
    db.execute("UPDATE views SET version = 0 WHERE name = 'lineage'")
    db.close()
    log = stage.open(path)
    _say(log, "b")
    assert log.branches.current_branch_of("home").name == "aside"
    log.close()
