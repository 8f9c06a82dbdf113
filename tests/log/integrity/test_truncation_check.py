"""Missing newest records are found by views, snapshots and backups."""

from collections.abc import Callable, Generator
from pathlib import Path

import apsw
import pytest
from tests.log.samples import WORDS, Said, Sayings

from everloop.log import BackupPlan, Draft, Limits, Log, open_log
from everloop.log.integrity.verify import Damage, verify_log
from everloop.log.maintenance.backup import make_backup
from everloop.log.transfer.restore import restore_log
from everloop.log.write.append import TransactionContext
from everloop.testing.deterministic import DeterministicPorts

NEVER = BackupPlan(every_events=0, every_minutes=0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "everloop.db"


@pytest.fixture
def log_with_backups(stage: DeterministicPorts, path: Path) -> Generator[Log]:
    """A log with backups, without a view."""
    log = open_log(path, ports=stage.ports, backups=NEVER)
    say(log, "a", "b", "c")
    yield log
    log.close()


def say(log: Log, *texts: str) -> None:
    for text in texts:
        log.append("s", [Said(text)], actor="user")


def tamper(path: Path, sql: str) -> None:
    """Edit the log with its triggers removed, then restore them."""
    db = apsw.Connection(str(path))
    guards = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in guards:
        db.execute(f"DROP TRIGGER {name}")
    db.execute(sql)
    for _, guard in guards:
        db.execute(str(guard))
    db.close()


def drop_newest(path: Path) -> None:
    tamper(path, "DELETE FROM log WHERE position = 3")


def missing(log: Log) -> list[tuple[int, int]]:
    """The ranges that verify reports as missing."""
    return [(d.first, d.last) for d in verify_log(log).damage if d.problem.startswith("is missing")]


def test_control_without_other_evidence_a_truncated_log_verifies(
    log_with_backups: Log, path: Path
) -> None:
    drop_newest(path)
    assert verify_log(log_with_backups).ok


@pytest.mark.promise("P-LOG-14")
def test_missing_records_are_found_by_a_view_folded_from_them(
    stage: DeterministicPorts, path: Path
) -> None:
    log = stage.open(path, [Sayings()])
    say(log, "a", "b", "c")
    drop_newest(path)
    assert missing(log) == [(3, 3)]
    log.close()


@pytest.mark.promise("P-LOG-14")
def test_missing_records_are_found_by_a_snapshot_folded_from_them(
    stage: DeterministicPorts, path: Path
) -> None:
    def say_more(desk: TransactionContext) -> list[Draft]:
        desk.state(WORDS, "s")
        return [Draft(Said("more"))]

    log = stage.open(path, limits=Limits(snapshot_every=1))
    say(log, "a", "b", "c")
    log.decide("s", say_more, actor="user")
    tamper(path, "DELETE FROM log WHERE position > 1")
    assert missing(log) == [(2, 3)]
    log.close()


@pytest.mark.promise("P-LOG-14")
def test_missing_records_are_found_by_a_backup_that_contains_them(
    log_with_backups: Log, stage: DeterministicPorts, path: Path
) -> None:
    make_backup(log_with_backups.file, path.parent / "backups", stage.clock.now())
    assert verify_log(log_with_backups).ok
    drop_newest(path)
    assert missing(log_with_backups) == [(3, 3)]


def test_a_rewritten_history_is_found_by_a_backup(
    log_with_backups: Log, stage: DeterministicPorts, path: Path
) -> None:
    make_backup(log_with_backups.file, path.parent / "backups", stage.clock.now())
    drop_newest(path)
    log_with_backups.transactions.close()  # so that it looks again where the log ends
    say(log_with_backups, "another c")
    (damage,) = verify_log(log_with_backups).damage
    assert (damage.first, damage.last) == (1, 3)
    assert "is not what the backup everloop-" in damage.problem


def test_a_damaged_backup_is_ignored_by_verify(
    log_with_backups: Log, stage: DeterministicPorts, path: Path
) -> None:
    copy = make_backup(log_with_backups.file, path.parent / "backups", stage.clock.now())
    copy.write_bytes(b"this is no database" * 100)
    assert verify_log(log_with_backups).ok


def test_backups_from_before_a_restore_are_ignored_by_verify(
    stage: DeterministicPorts, path: Path
) -> None:
    def reopened(act: Callable[[Log], object]) -> tuple[Damage, ...]:
        log = open_log(path, ports=stage.ports, backups=BackupPlan())
        act(log)
        found = verify_log(log).damage
        log.close()
        stage.clock.tick(minutes=1)
        return found

    reopened(lambda log: say(log, "a"))  # closing makes the first backup
    (first,) = (path.parent / "backups").glob("everloop-*.db")
    reopened(lambda log: say(log, "b", "c"))
    restore_log(first, path, stage.ports)
    stage.clock.tick(minutes=1)
    assert (
        reopened(lambda log: say(log, "another b")) == ()
    )  # closing makes a backup of the restored log
    tamper(path, "DELETE FROM log WHERE position = 2")
    (damage,) = reopened(lambda log: log.head)
    assert (damage.first, damage.last) == (2, 2)


def test_missing_triggers_of_the_log_table_are_found(log_with_backups: Log, path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("DROP TRIGGER log_is_append_only")
    db.close()
    (damage,) = verify_log(log_with_backups).damage
    assert "log_is_append_only" in damage.problem
