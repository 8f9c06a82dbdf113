"""The log as a Parquet file and back."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from everloop.adapters.warehouse.parquet import export_parquet, import_parquet
from everloop.errors import Corrupt, EverloopError, Invalid, NotFound, Unavailable
from everloop.log import Draft
from everloop.log.integrity.verify import verify_log
from everloop.log.model.facts import NoteWritten
from everloop.testing.deterministic import DeterministicPorts


def test_a_parquet_file_gives_an_equal_log_back(tmp_path: Path) -> None:
    stage = DeterministicPorts()
    log = stage.open(tmp_path / "a.db")
    log.append("notes", [NoteWritten("é"), NoteWritten("secret")], actor="user")
    log.append("notes", [Draft(NoteWritten("from it"), (1,))], actor="agent:x")
    log.rewind(2, actor="user")
    log.purge([2], reason="privacy", actor="user")
    assert export_parquet(log, tmp_path / "log.parquet") == log.head
    copy = stage.open(tmp_path / "b.db")
    assert import_parquet(copy, tmp_path / "log.parquet") == log.head
    assert list(copy.records()) == list(log.records())
    assert verify_log(copy).ok
    log.close()
    copy.close()


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    log = DeterministicPorts().open(tmp_path / "a.db")
    log.append("notes", [NoteWritten("a")], actor="user")
    export_parquet(log, tmp_path / "log.parquet")
    data = (tmp_path / "log.parquet").read_bytes()
    (tmp_path / "log.parquet").write_bytes(data[:-20])
    copy = DeterministicPorts().open(tmp_path / "b.db")
    with pytest.raises(Corrupt) as refusal:
        import_parquet(copy, tmp_path / "log.parquet")
    assert refusal.value.hint
    assert copy.head == 0
    log.close()
    copy.close()


parquet: Any = pq  # its stubs are half untyped


def exported(tmp_path: Path) -> Any:
    """A file of four records, and what it holds."""
    log = DeterministicPorts().open(tmp_path / "a.db")
    log.append("notes", [NoteWritten(text) for text in "abcd"], actor="user")
    export_parquet(log, tmp_path / "log.parquet")
    log.close()
    return parquet.read_table(tmp_path / "log.parquet")


def refused(tmp_path: Path, table: Any, error: type[EverloopError]) -> str:
    """What is said to a file with this in it and the notes of the whole one."""
    noted = parquet.ParquetFile(tmp_path / "log.parquet").metadata.metadata
    with parquet.ParquetWriter(tmp_path / "hurt.parquet", table.schema) as out:
        out.write_table(table)
        out.add_key_value_metadata(
            {name.decode(): value.decode() for name, value in noted.items() if b"ARROW" not in name}
        )
    copy = DeterministicPorts().open(tmp_path / "b.db")
    with pytest.raises(error) as refusal:
        import_parquet(copy, tmp_path / "hurt.parquet")
    assert refusal.value.hint
    assert copy.head == 0
    copy.close()
    return str(refusal.value)


def test_the_first_bad_row_is_named(tmp_path: Path) -> None:
    whole = exported(tmp_path)
    rows = whole.to_pylist()
    rows[2]["data"] = '{"text":"edited"}'
    edited = pa.Table.from_pylist(rows, schema=whole.schema)
    assert "row 3 of the archive is damaged" in refused(tmp_path, edited, Corrupt)


def test_a_missing_row_is_detected_even_the_last_one(tmp_path: Path) -> None:
    whole = exported(tmp_path)
    gap = pa.concat_tables([whole.slice(0, 1), whole.slice(2)])
    assert "row 2 of the archive holds record 3" in refused(tmp_path, gap, Corrupt)
    assert "has 3 records" in refused(tmp_path, whole.slice(0, 3), Corrupt)


def test_a_table_with_another_schema_is_not_an_archive(tmp_path: Path) -> None:
    narrow = exported(tmp_path).drop_columns(["digest"])
    assert "not an archive" in refused(tmp_path, narrow, Invalid)


def test_a_missing_or_unwritable_file_is_named_in_the_error(tmp_path: Path) -> None:
    log = DeterministicPorts().open(tmp_path / "a.db")
    with pytest.raises(NotFound, match="nothing"):
        import_parquet(log, tmp_path / "nothing.parquet")
    with pytest.raises(Unavailable, match="cannot be written"):
        export_parquet(log, tmp_path / "nowhere" / "log.parquet")
    log.close()
