"""Maintenance: checkpoints empty the write-ahead file, which is then reused."""

from pathlib import Path

from tests.log.samples import Said

from everloop.log import Log


def _say(log: Log, times: int) -> None:
    for number in range(times):
        log.append("home", [Said(text=f"line {number}")], actor="user")


def test_every_connection_has_all_its_settings(log: Log) -> None:
    db = log.file.connect()
    names = ("journal_mode", "synchronous", "wal_autocheckpoint", "foreign_keys", "cache_size")
    assert [db.pragma(name) for name in names] == ["wal", 2, 0, 1, -16_384]
    db.close()


def test_after_a_checkpoint_the_write_ahead_file_is_overwritten_and_not_made_longer(
    log: Log,
) -> None:
    ahead = Path(f"{log.file.path}-wal")
    _say(log, 60)
    size = ahead.stat().st_size
    log.maintenance.checkpoint()
    assert log.maintenance.problem is None
    _say(log, 30)
    assert ahead.stat().st_size == size
