"""Verify, archive, move, back up and restore a log."""

import gzip
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import apsw
import pytest
from tests.log.samples import Said
from tests.log.test_invariants import lived

from everloop.errors import Conflict, Corrupt, Invalid, NotFound, Unavailable
from everloop.log import BackupPlan, Log, open_log
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.log.integrity.verify import verify_log
from everloop.log.maintenance.backup import list_backups, make_backup, restore_backup
from everloop.log.transfer.archive import export_jsonl, import_jsonl
from everloop.log.transfer.move import move_log
from everloop.log.transfer.restore import restore_log
from everloop.testing.deterministic import DeterministicPorts


@pytest.fixture
def old(log: Log) -> Log:
    """A log with some history."""
    return lived(log)


def test_an_intact_log_verifies(old: Log) -> None:
    found = verify_log(old)
    assert found.ok
    assert (found.records, found.streams) == (old.head, 3)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ('UPDATE log SET data = \'{"text":"edited"}\' WHERE position = 2', "digest"),
        ("UPDATE log SET actor = 'user' WHERE position = 4", "digest"),
        ("UPDATE log SET recorded_at = recorded_at - 1 WHERE position = 4", "digest"),
        ("UPDATE log SET because = '[2]' WHERE position = 4", "digest"),
        ("DELETE FROM log WHERE position = 2", "missing"),
    ],
)
@pytest.mark.promise("P-LOG-14")
def test_an_edited_or_missing_row_is_found_and_named(
    old: Log, tmp_path: Path, damage: str, problem: str
) -> None:
    db = apsw.Connection(str(tmp_path / "everloop.db"))
    db.execute("DROP TRIGGER log_is_append_only; DROP TRIGGER log_is_immutable")
    db.execute(damage)
    db.close()
    found = verify_log(old)
    assert not found.ok
    position = int(damage.rsplit(" ", 1)[1])
    assert any(problem in d.problem and d.first <= position <= d.last for d in found.damage)


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
@pytest.mark.promise("P-LOG-16")
def test_importing_an_archive_gives_an_equal_log(
    old: Log, stage: DeterministicPorts, tmp_path: Path, name: str
) -> None:
    assert export_jsonl(old, tmp_path / name) == old.head
    copy = stage.open(tmp_path / "copy.db")
    assert import_jsonl(copy, tmp_path / name) == old.head
    assert list(copy.records()) == list(old.records())
    assert verify_log(copy).ok
    copy.close()


Lines = list[bytes]
HURTS: list[tuple[Callable[[Lines], Lines], str]] = [
    (lambda lines: [*lines[:2], lines[2].replace(b'"b"', b'"x"'), *lines[3:]], "line 3"),
    (lambda lines: [*lines[:3], *lines[4:]], "line 4"),
    (lambda lines: lines[:-1], "cut short"),
    (lambda lines: [*lines[:-2], lines[-1]], "does not match the records"),
    (lambda lines: [*lines, lines[1]], "comes after the end"),
    (lambda lines: [*lines[:-1], b'{"records":"many"}\n'], "is damaged"),
    (lambda lines: [*lines[:2], b"{}\n", *lines[3:]], "line 3"),
    (lambda lines: [*lines[:2], b'{"position": NaN}\n', *lines[3:]], "line 3"),
]


@pytest.mark.parametrize(("hurt", "line"), HURTS)
@pytest.mark.promise("P-LOG-16")
def test_a_damaged_archive_is_refused_and_nothing_is_imported(
    old: Log, stage: DeterministicPorts, tmp_path: Path, hurt: Callable[[Lines], Lines], line: str
) -> None:
    export_jsonl(old, tmp_path / "log.jsonl")
    lines = (tmp_path / "log.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "log.jsonl").write_bytes(b"".join(hurt(lines)))
    copy = stage.open(tmp_path / "copy.db")
    with pytest.raises(Corrupt, match=line) as refusal:
        import_jsonl(copy, tmp_path / "log.jsonl")
    assert "Nothing was imported" in refusal.value.hint
    assert copy.head == 0
    copy.close()


COMPRESSED_HURTS: list[Callable[[bytes], bytes]] = [
    lambda data: data[: len(data) // 2],
    lambda data: data + b"more",
    *(lambda data, at=at: _flipped(data, at) for at in (60, 200, -6)),
]


def _flipped(data: bytes, at: int) -> bytes:
    hurt = bytearray(data)
    hurt[at] ^= 0x55
    return bytes(hurt)


@pytest.mark.parametrize("hurt", COMPRESSED_HURTS)
def test_a_damaged_compressed_archive_is_refused(
    old: Log, stage: DeterministicPorts, tmp_path: Path, hurt: Callable[[bytes], bytes]
) -> None:
    archive = tmp_path / "log.jsonl.gz"
    export_jsonl(old, archive)
    archive.write_bytes(hurt(archive.read_bytes()))
    copy = stage.open(tmp_path / "copy.db")
    with pytest.raises((Corrupt, Invalid)) as refusal:
        import_jsonl(copy, archive)
    assert refusal.value.hint
    assert copy.head == 0
    copy.close()


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_an_archive_that_cannot_be_written_is_a_clear_error(
    old: Log, tmp_path: Path, name: str
) -> None:
    with pytest.raises(Unavailable, match="cannot be written") as refusal:
        export_jsonl(old, tmp_path / "nowhere" / name)
    assert refusal.value.hint


def test_a_file_that_is_no_archive_is_refused_with_a_hint(log: Log, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Sir,\n")
    with pytest.raises(Invalid, match="not an archive") as refusal:
        import_jsonl(log, tmp_path / "letter.txt")
    assert "export" in refusal.value.hint
    with pytest.raises(Invalid, match="not an archive"):
        import_jsonl(log, _written(tmp_path / "empty.jsonl", b""))
    with pytest.raises(Invalid, match="not an archive"):
        import_jsonl(log, _written(tmp_path / "letter.gz", b"Dear Sir,\n"))
    with pytest.raises(NotFound, match=r"nowhere\.jsonl") as absent:
        import_jsonl(log, tmp_path / "nowhere.jsonl")
    assert absent.value.hint
    with gzip.open(tmp_path / "newer.jsonl.gz", "wb") as newer:
        newer.write(b'{"everloop":"log","format":99}\n')
    with pytest.raises(Invalid, match="newer Everloop"):
        import_jsonl(log, tmp_path / "newer.jsonl.gz")


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_an_archive_is_not_mixed_into_another_log(
    old: Log, stage: DeterministicPorts, tmp_path: Path
) -> None:
    export_jsonl(old, tmp_path / "log.jsonl")
    other = stage.open(tmp_path / "other.db")
    other.append("s", [Said("mine")], actor="user")
    with pytest.raises(Conflict, match="not empty"):
        import_jsonl(other, tmp_path / "log.jsonl")
    other.close()


@pytest.mark.promise("P-LOG-16")
def test_an_interrupted_move_continues_where_it_stopped(
    old: Log, stage: DeterministicPorts, tmp_path: Path
) -> None:
    target = stage.open(tmp_path / "target.db")
    target.append_records([record for record in old.records() if record.position <= 4])
    assert move_log(old, target) == old.head - 4
    assert move_log(old, target) == 0
    assert list(target.records()) == list(old.records())
    target.close()


def test_rebuilding_an_unknown_view_lists_the_known_ones(log: Log) -> None:
    with pytest.raises(NotFound, match="nothing") as refusal:
        rebuild_projections(log, ["nothing"])
    assert "sayings" in refusal.value.hint


@pytest.mark.promise("P-LOG-17")
def test_a_backup_of_a_log_in_use_is_complete(
    old: Log, stage: DeterministicPorts, tmp_path: Path
) -> None:
    copy = make_backup(old.file, tmp_path / "copies", stage.clock.now())
    head = old.head
    old.append("s", [Said("later")], actor="user")
    restored = tmp_path / "restored" / "everloop.db"
    restore_backup(copy, restored)
    log = stage.open(restored)
    assert log.head == head
    assert verify_log(log).ok
    log.append("s", [Said("goes on")], actor="user")
    log.close()


def test_a_restore_replaces_the_log_by_the_backup(
    old: Log, stage: DeterministicPorts, tmp_path: Path
) -> None:
    copy = make_backup(old.file, tmp_path / "copies", stage.clock.now())
    head = old.head
    old.append("s", [Said("regretted")], actor="user")
    old.close()
    restore_backup(copy, tmp_path / "everloop.db")
    log = stage.open(tmp_path / "everloop.db")
    assert log.head == head
    assert verify_log(log).ok
    log.close()


def test_backups_are_made_when_due_and_the_oldest_are_deleted(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    plan = BackupPlan(every_events=100, every_minutes=60, kept=2)
    for _ in range(4):
        log = open_log(tmp_path / "everloop.db", ports=stage.ports, backups=plan)
        log.append("s", [Said("x")] * 150, actor="user")
        log.close()
        stage.clock.tick(seconds=1)
    assert [copy.head for copy in list_backups(tmp_path / "backups")] == [600, 450]


def test_a_timed_backup_is_made_only_after_changes(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    plan = BackupPlan(every_events=1, every_minutes=60, kept=9)
    quiet = BackupPlan(every_events=0, every_minutes=60, kept=9)

    def open_and_close(how: BackupPlan, count: int) -> int:
        log = open_log(tmp_path / "everloop.db", ports=stage.ports, backups=how)
        if count:
            log.append("s", [Said("x")] * count, actor="user")
        log.close()
        return len(list_backups(tmp_path / "backups"))

    assert open_and_close(plan, 1) == 1
    assert open_and_close(quiet, 1) == 1
    stage.clock.time += timedelta(hours=2)
    assert open_and_close(quiet, 0) == 1
    assert open_and_close(quiet, 1) == 2


def test_backups_continue_after_an_older_one_was_restored(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    path, folder = tmp_path / "everloop.db", tmp_path / "backups"

    def say_and_close(count: int) -> None:
        log = open_log(path, ports=stage.ports, backups=BackupPlan())
        log.append("s", [Said("x")] * count, actor="user")
        log.close()
        stage.clock.tick(days=2)

    say_and_close(1)
    say_and_close(4)
    oldest = list_backups(folder)[-1]
    restore_log(oldest.path, path, stage.ports)
    stage.clock.tick(minutes=1)
    say_and_close(1)
    assert list_backups(folder)[0].head == 2, "the log that was replaced had gone further"


def test_a_backup_folder_that_cannot_be_written_is_reported_until_it_can(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    log = open_log(tmp_path / "everloop.db", ports=stage.ports, backups=BackupPlan(every_events=1))
    folder = tmp_path / "backups"
    folder.write_text("in the way")
    log.append("s", [Said("x")] * 9, actor="user")
    log.maintenance.note_commit(log.head)
    log.maintenance.back_up()
    (trouble,) = log.problems
    assert str(folder) in str(trouble)
    assert trouble.hint
    log.maintenance.checkpoint()
    assert log.problems == [trouble], "what works beside it does not mend it"
    folder.unlink()
    log.maintenance.back_up()
    assert log.problems == []
    log.close()


@pytest.mark.promise("P-LOG-17")
def test_there_is_a_backup_before_every_purge(stage: DeterministicPorts, tmp_path: Path) -> None:
    log = open_log(tmp_path / "everloop.db", ports=stage.ports, backups=BackupPlan())
    log.append("s", [Said("secret")], actor="user")
    log.purge([1], reason="", actor="user")
    assert [copy.head for copy in list_backups(tmp_path / "backups")] == [1]
    log.close()


def test_there_is_a_backup_before_every_import(stage: DeterministicPorts, tmp_path: Path) -> None:
    plan = BackupPlan(every_events=0, every_minutes=0)
    log = open_log(tmp_path / "everloop.db", ports=stage.ports, backups=plan)
    archive = tmp_path / "log.jsonl"
    log.append("s", [Said("here")], actor="user")
    export_jsonl(log, archive)
    assert import_jsonl(log, archive) == 0
    assert [copy.head for copy in list_backups(tmp_path / "backups")] == [1]
    log.close()
