"""The log as a Parquet file and back."""

from pathlib import Path

import pytest

from everloop.adapters.parquet import export_parquet, import_parquet
from everloop.errors import Corrupt
from everloop.log import Draft
from everloop.log.facts import NoteWritten
from everloop.log.verify import verify
from everloop.testing.stage import Stage


def test_a_parquet_file_gives_an_equal_log_back(tmp_path: Path) -> None:
    stage = Stage()
    log = stage.open(tmp_path / "a.db")
    log.append("notes", [NoteWritten("é"), NoteWritten("secret")], actor="user")
    log.append("notes", [Draft(NoteWritten("from it"), (1,))], actor="agent:x")
    log.rewind(2, actor="user")
    log.purge([2], reason="privacy", actor="user")
    assert export_parquet(log, tmp_path / "log.parquet") == log.head
    copy = stage.open(tmp_path / "b.db")
    assert import_parquet(copy, tmp_path / "log.parquet") == log.head
    assert list(copy.records()) == list(log.records())
    assert verify(copy).ok
    log.close()
    copy.close()


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    log = Stage().open(tmp_path / "a.db")
    log.append("notes", [NoteWritten("a")], actor="user")
    export_parquet(log, tmp_path / "log.parquet")
    data = (tmp_path / "log.parquet").read_bytes()
    (tmp_path / "log.parquet").write_bytes(data[:-20])
    copy = Stage().open(tmp_path / "b.db")
    with pytest.raises(Corrupt) as refusal:
        import_parquet(copy, tmp_path / "log.parquet")
    assert refusal.value.hint
    assert copy.head == 0
    log.close()
    copy.close()
