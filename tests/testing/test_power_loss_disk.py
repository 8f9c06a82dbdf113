"""The power loss disk: a power cut is one moment for all files."""

import threading
from pathlib import Path

import apsw

from everloop.testing.power_loss_disk import power_loss_disk
from everloop.testing.seeded_random import SeededRandom


def test_nothing_is_written_during_a_power_cut(tmp_path: Path) -> None:
    with power_loss_disk() as disk:
        db = apsw.Connection(str(tmp_path / "a.db"), vfs=disk.name)
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        db.execute("CREATE TABLE t (x)")
        about_to_write, written = threading.Event(), threading.Event()

        def write() -> None:
            db.execute("INSERT INTO t VALUES (1)")
            written.set()

        disk.before_call = about_to_write.set
        with disk.lock:
            writer = threading.Thread(target=write)
            writer.start()
            assert about_to_write.wait(60)
            before = disk.cut(SeededRandom(1))
            assert disk.cut(SeededRandom(1)) == before
            assert not written.is_set()
        writer.join()
        db.close()
    assert written.is_set()
