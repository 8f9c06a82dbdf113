"""Purged text is erased from every file, not only hidden."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.faults.workload import ACTOR, LIMITS, VIEWS, Say, engine_on
from tests.log.samples import Said

from everloop.adapters.warehouse.parquet import export_parquet, read_parquet
from everloop.errors import Unavailable
from everloop.log import Draft, Log, Receipt
from everloop.log.integrity.verify import verify_log
from everloop.log.maintenance.backup import make_backup
from everloop.log.transfer.archive import export_jsonl
from everloop.testing.deterministic import NEW_YEAR, DeterministicPorts
from everloop.testing.log_audit import audit
from everloop.testing.power_loss_disk import power_loss_disk
from everloop.testing.seeded_random import SeededRandom

# Words that share no beginning with any other, so that a full-text index cannot abridge them.
SECRET = "qxheliotrope jvmarigold"  # noqa: S105 - a secret for a diary, not a password
WORDS = [b"qxheliotrope", b"jvmarigold"]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with closing(
        DeterministicPorts().open(tmp_path / "everloop.db", VIEWS, limits=LIMITS)
    ) as opened:
        yield opened


def write_secret(log: Log) -> int:
    """Write a secret and facts derived from it, into every view, snapshot and index."""
    engine = engine_on(log)
    for number in range(5):
        engine.do(Say("diary", f"harmless {number}"))
    told = log.append("diary", [Said(SECRET)], actor=ACTOR)
    log.append("letters", [Draft(Said(f"so: {SECRET}"), (told.position,))], actor=ACTOR)
    engine.do(Say("diary", "unrelated"))  # folds the diary: its snapshot now quotes the secret
    for number in range(5):
        log.append("other", [Said(f"later {number}")], actor=ACTOR)
    return told.position


def purge(log: Log, position: int) -> Receipt:
    return log.purge([position], reason="private", actor=ACTOR, request_id="purge")


def files_with_secret(folder: Path) -> list[str]:
    """The files below a folder in which a word of the secret occurs."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if any(word in _content(path) for word in WORDS)]


def _content(path: Path) -> bytes:
    """The content of a file; empty if SQLite has deleted it meanwhile."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_control_before_the_purge_the_secret_is_found(log: Log, tmp_path: Path) -> None:
    write_secret(log)
    assert {"everloop.db", "everloop.db-wal"} & set(files_with_secret(tmp_path))


@pytest.mark.promise("P-LOG-13")
def test_after_a_purge_no_file_of_the_log_contains_the_text(log: Log, tmp_path: Path) -> None:
    purge(log, write_secret(log))
    assert files_with_secret(tmp_path) == []


@pytest.mark.promise("P-LOG-13")
def test_later_backups_and_exports_do_not_contain_purged_text(log: Log, tmp_path: Path) -> None:
    purge(log, write_secret(log))
    make_backup(log.file, tmp_path / "copies", NEW_YEAR)
    export_jsonl(log, tmp_path / "log.jsonl")
    export_parquet(log, tmp_path / "log.parquet")  # compressed, so it is read and not scanned
    records = list(read_parquet(tmp_path / "log.parquet"))
    assert files_with_secret(tmp_path) == []
    assert len(records) == log.head
    assert not [record for record in records if SECRET in repr(record)]


def test_search_does_not_find_purged_text(log: Log) -> None:
    purge(log, write_secret(log))
    with log.reading() as reader:
        assert (
            reader.rows("SELECT * FROM sayings_text WHERE sayings_text MATCH 'qxheliotrope'") == []
        )
        assert reader.rows("SELECT * FROM sayings WHERE text LIKE '%qxheliotrope%'") == []


@pytest.mark.promise("P-LOG-13")
def test_the_chain_verifies_and_views_equal_their_replay_after_a_purge(
    log: Log, tmp_path: Path
) -> None:
    purge(log, write_secret(log))
    assert verify_log(log).ok
    log.close()
    assert audit(tmp_path / "everloop.db", VIEWS) == []


def test_a_finished_purge_survives_a_power_loss(tmp_path: Path, chance: SeededRandom) -> None:
    with power_loss_disk() as disk:
        log = DeterministicPorts(vfs=disk.name).open(tmp_path / "everloop.db", VIEWS, limits=LIMITS)
        purge(log, write_secret(log))
        images = [disk.cut(chance) for _ in range(200)]
        log.close()
    assert not [image for image in images for word in WORDS if word in b"".join(image.values())]


def test_a_purge_blocked_by_a_reader_is_reported_and_completes_when_repeated(
    log: Log, tmp_path: Path
) -> None:
    position = write_secret(log)
    with log.file.reading(), pytest.raises(Unavailable, match="still uses") as held_up:
        purge(log, position)
    assert held_up.value.hint
    assert log.record(position).purged
    assert purge(log, position).repeated
    assert files_with_secret(tmp_path) == []
