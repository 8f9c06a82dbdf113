"""A copy of the log as a folder of Parquet files, for DuckDB, notebooks and external tables.

Needs the extra `parquet`. The files are partitioned by month (`month=2026-11`), named by the
positions in them, and appear under their names only when they are complete. A purge rewrites the
files that have the erased payloads.
"""

import fcntl
import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from everloop.adapters.warehouse.parquet import SCHEMA as ARCHIVE_SCHEMA
from everloop.errors import Corrupt, Unavailable
from everloop.log import Record
from everloop.log.model.record import decode_positions, from_microseconds
from everloop.log.transfer.warehouse import REFILL_HINT, CopyEnd

NAME = re.compile(r"(\d{12})-(\d{12})\.parquet")
PARTIAL = ".partial"
LOCK = ".lock"
_LEFT_OUT = ("salt", "seal")  # only a lossless archive needs them
SCHEMA: Any = pa.schema([field for field in ARCHIVE_SCHEMA if field.name not in _LEFT_OUT])
_parquet: Any = pq  # its stubs are half untyped
_compute: Any = pc


class _File(NamedTuple):
    first: int
    last: int
    path: Path


class ParquetFolder:
    """A folder of Parquet files with one row for each record."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        self._folder = folder

    def end(self) -> CopyEnd:
        """Where the copy ends."""
        files = self._files()
        if not files:
            return CopyEnd(0, 0, None)
        rows = sum(one.last - one.first + 1 for one in files)
        last = self._read(files[-1].path)
        return CopyEnd(rows, files[-1].last, last.column("digest")[-1].as_py())

    def erase(self, positions: Sequence[int]) -> int:
        """Erase the payloads at these positions; only the files that have one are rewritten."""
        erased = 0
        with self._locked():
            for file in self._files():
                wanted = [at for at in positions if file.first <= at <= file.last]
                erased += self._erase(file.path, wanted) if wanted else 0
        return erased

    def load(self, records: Sequence[Record]) -> int:
        """Add the next records in order; returns where the copy ends, also if it had them."""
        with self._locked():
            files = self._files()
            end = files[-1].last if files else 0
            new = [record for record in records if record.position > end]
            for month, run in groupby(new, _month):
                batch = list(run)
                name = f"{batch[0].position:012}-{batch[-1].position:012}.parquet"
                self._write(self._folder / f"month={month}" / name, _table(batch))
                end = batch[-1].position
        return end

    def refresh_views(self) -> None:
        """A folder keeps no views; `docs/warehouse.md` has their SQL for DuckDB."""

    def _erase(self, path: Path, positions: list[int]) -> int:
        table = self._read(path)
        chosen = _compute.is_in(table.column("position"), value_set=pa.array(positions, pa.int64()))
        there = _compute.and_(chosen, _compute.is_valid(table.column("data")))
        found = _compute.sum(there).as_py() or 0
        if found:
            at = table.schema.get_field_index("data")
            nothing = pa.scalar(None, pa.string())
            data = _compute.if_else(there, nothing, table.column("data"))
            self._write(path, table.set_column(at, SCHEMA.field("data"), data))
        return int(found)

    def _files(self) -> list[_File]:
        """The files of the copy, in the order of positions.

        Raises:
            Corrupt: one is missing in between.
        """
        found = [
            _File(int(name[1]), int(name[2]), path)
            for path in self._folder.glob("month=*/*.parquet")
            if (name := NAME.fullmatch(path.name))
        ]
        files = sorted(found)
        for before, file in zip([_File(0, 0, self._folder), *files], files, strict=False):
            if file.first != before.last + 1:
                raise Corrupt(
                    f"{self.name} lacks the positions before {file.first}", hint=REFILL_HINT
                )
        return files

    def _read(self, path: Path) -> Any:
        try:
            with path.open("rb") as source:
                return _parquet.read_table(source)
        except (pa.ArrowException, OSError) as problem:
            raise Corrupt(f"{path} cannot be read", hint=REFILL_HINT) from problem

    def _write(self, path: Path, table: Any) -> None:
        """Write a file under its name only when it is complete and on disk."""
        partial = path.with_suffix(PARTIAL)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with partial.open("wb") as target:
                _parquet.write_table(table, target, compression="zstd")
                target.flush()
                os.fsync(target.fileno())
            partial.replace(path)
        except OSError as problem:
            raise _unwritable(self.name, problem) from problem

    @contextmanager
    def _locked(self) -> Generator[None]:
        """Hold the folder, so that two processes do not write the same rows."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with (self._folder / LOCK).open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as problem:
            raise _unwritable(self.name, problem) from problem


def _unwritable(name: str, problem: OSError) -> Unavailable:
    return Unavailable(
        f"{name} cannot be written: {problem.strerror}", hint="Check the folder and the disk."
    )


def _month(record: Record) -> str:
    return f"{from_microseconds(record.recorded_us):%Y-%m}"


def _row(record: Record) -> dict[str, Any]:
    derived = {
        "because": list(decode_positions(record.because)),
        "recorded_at": from_microseconds(record.recorded_us),
    }
    return derived | {name: getattr(record, name) for name in SCHEMA.names if name not in derived}


def _table(records: Sequence[Record]) -> Any:
    table: Any = pa.Table
    return table.from_pylist([_row(one) for one in records], schema=SCHEMA)
