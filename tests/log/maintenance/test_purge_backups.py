"""The backup before a purge contains all that is erased, and appends do not wait for it."""

from pathlib import Path

import pytest
from tests.log.postgres.nodes import Nodes, said, say, wait_for_head
from tests.log.samples import Said

from everloop.errors import Conflict
from everloop.log import BackupPlan, Draft, Log, open_log
from everloop.log.maintenance.backup import BackupRotation, list_backups
from everloop.log.opening import node_backup_folder
from everloop.testing.deterministic import DeterministicPorts, ManualClock


class Meanwhile(BackupRotation):
    """Backups during which something is appended each time."""

    def __init__(self, log: Log, folder: Path, happens: list[Log]) -> None:
        super().__init__(log.file, folder, BackupPlan(), ManualClock())
        self._happens = happens

    def make_and_get_head(self) -> int:
        """Append something derived from the first fact, then make the backup."""
        kept = super().make_and_get_head()
        if self._happens:
            derive(self._happens.pop())
        return kept


def derive(log: Log) -> int:
    """Append something derived from the first fact."""
    words = [Draft(Said("derived"), because=(1,))]
    return log.append("s", words, actor="user").position


def backup_texts(copy: Path, stage: DeterministicPorts) -> list[str]:
    """The texts in a backup."""
    log = open_log(copy, ports=stage.ports)
    try:
        return said(log)
    finally:
        log.close()


def test_facts_derived_during_the_backup_are_in_a_second_backup(
    log: Log, stage: DeterministicPorts, tmp_path: Path
) -> None:
    say(log, "first")
    log.backups = Meanwhile(log, tmp_path / "kept", [log])
    log.purge([1], reason="", actor="user")
    newest, older = list_backups(tmp_path / "kept")
    assert backup_texts(older.path, stage) == ["first"]
    assert backup_texts(newest.path, stage) == ["first", "derived"]
    assert said(log) == []


def test_a_purge_erases_nothing_if_backups_cannot_catch_up(log: Log, tmp_path: Path) -> None:
    say(log, "first")
    log.backups = Meanwhile(log, tmp_path / "kept", [log] * 10)
    with pytest.raises(Conflict, match="in no backup yet"):
        log.purge([1], reason="", actor="user")
    assert said(log)[0] == "first"


def test_appends_continue_while_the_backup_is_made(
    nodes: Nodes, stage: DeterministicPorts, tmp_path: Path
) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    say(a, "first")
    wait_for_head(b, 1)
    a.backups = Meanwhile(a, node_backup_folder(tmp_path / "a.db"), [b])
    a.purge([1], reason="", actor="user")
    newest, _ = list_backups(node_backup_folder(tmp_path / "a.db"))
    assert backup_texts(newest.path, stage) == ["first", "derived"]
    assert said(a) == []


def test_recent_appends_of_another_node_are_in_the_backup(
    nodes: Nodes, stage: DeterministicPorts, tmp_path: Path
) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    say(a, "first")
    wait_for_head(b, 1)
    a.backups = Meanwhile(a, node_backup_folder(tmp_path / "a.db"), [])
    position = derive(b)
    a.purge([1], reason="", actor="user")  # whether it has arrived here or not
    (copy,) = list_backups(node_backup_folder(tmp_path / "a.db"))
    assert copy.head >= position
    assert backup_texts(copy.path, stage) == ["first", "derived"]


def test_a_purge_that_erases_nothing_makes_no_backup(log: Log, tmp_path: Path) -> None:
    say(log, "first")
    log.backups = Meanwhile(log, tmp_path / "kept", [])
    log.purge([1], reason="", actor="user", request_id="r")
    again = log.purge([1], reason="", actor="user", request_id="r")
    assert again.repeated
    assert log.purge([1], reason="", actor="user").facts == ()
    assert len(list_backups(tmp_path / "kept")) == 1
