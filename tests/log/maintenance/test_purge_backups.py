"""The backup before a purge: it holds all that is erased, and nobody waits while it is made."""

from pathlib import Path

import pytest
from tests.log.postgres.nodes import Nodes, reach, said, say
from tests.log.samples import Said

from everloop.errors import Conflict
from everloop.log import BackupPlan, Draft, Log, open_log
from everloop.log.maintenance.backup import Backups, backups
from everloop.log.opening import node_backups
from everloop.testing.deterministic import Stage, StillClock


class Meanwhile(Backups):
    """Backups during which something else happens each time."""

    def __init__(self, log: Log, folder: Path, happens: list[Log]) -> None:
        super().__init__(log.file, folder, BackupPlan(), StillClock())
        self._happens = happens

    def keep(self) -> int:
        """Let the next one derive something from the first fact, then make the copy."""
        kept = super().keep()
        if self._happens:
            derive(self._happens.pop())
        return kept


def derive(log: Log) -> int:
    """Say something that comes from the first fact."""
    words = [Draft(Said("derived"), because=(1,))]
    return log.append("s", words, actor="user").position


def held(copy: Path, stage: Stage) -> list[str]:
    """What a backup says."""
    log = open_log(copy, world=stage.world)
    try:
        return said(log)
    finally:
        log.close()


def test_facts_derived_during_the_backup_are_in_a_second_backup(
    log: Log, stage: Stage, tmp_path: Path
) -> None:
    say(log, "first")
    log.backups = Meanwhile(log, tmp_path / "kept", [log])
    log.purge([1], reason="", actor="user")
    newest, older = backups(tmp_path / "kept")
    assert held(older.path, stage) == ["first"]
    assert held(newest.path, stage) == ["first", "derived"]
    assert said(log) == []


def test_a_purge_erases_nothing_if_backups_cannot_catch_up(log: Log, tmp_path: Path) -> None:
    say(log, "first")
    log.backups = Meanwhile(log, tmp_path / "kept", [log] * 10)
    with pytest.raises(Conflict, match="in no backup yet"):
        log.purge([1], reason="", actor="user")
    assert said(log)[0] == "first"


def test_appends_continue_while_the_backup_is_made(
    nodes: Nodes, stage: Stage, tmp_path: Path
) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    say(a, "first")
    reach(b, 1)
    a.backups = Meanwhile(a, node_backups(tmp_path / "a.db"), [b])
    a.purge([1], reason="", actor="user")
    newest, _ = backups(node_backups(tmp_path / "a.db"))
    assert held(newest.path, stage) == ["first", "derived"]
    assert said(a) == []


def test_recent_appends_of_another_node_are_in_the_backup(
    nodes: Nodes, stage: Stage, tmp_path: Path
) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    say(a, "first")
    reach(b, 1)
    a.backups = Meanwhile(a, node_backups(tmp_path / "a.db"), [])
    position = derive(b)
    a.purge([1], reason="", actor="user")  # whether it has arrived here or not
    (copy,) = backups(node_backups(tmp_path / "a.db"))
    assert copy.head >= position
    assert held(copy.path, stage) == ["first", "derived"]


def test_a_purge_that_erases_nothing_makes_no_backup(log: Log, tmp_path: Path) -> None:
    say(log, "first")
    log.backups = Meanwhile(log, tmp_path / "kept", [])
    log.purge([1], reason="", actor="user", request_id="r")
    again = log.purge([1], reason="", actor="user", request_id="r")
    assert again.repeated
    assert log.purge([1], reason="", actor="user").facts == ()
    assert len(backups(tmp_path / "kept")) == 1
